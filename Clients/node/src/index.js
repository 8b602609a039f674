export {Client} from './client.js';
export {DeviceKey, Encryption, NoTrustedDeviceError, Pins, SenderKey, UnreadableError} from './endToEnd.js';
export {AbortError, InterferenceError, InvalidMessageError, ProblemError, SealpostError, UnreachableError} from './errors.js';
export {Webhook} from './webhook.js';
export {user} from './wire.js';
