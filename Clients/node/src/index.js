export {DeviceKey, Encryption, NoTrustedDeviceError, Pins, SenderKey, UnreadableError} from './endToEnd.js';
export {InterferenceError, ProblemError, SealpostError, UnavailableError, WebhookError} from './errors.js';
export {Publisher} from './publisher.js';
export {verifyWebhook, webhookListener} from './webhook.js';
