export {InterferenceError, ProblemError, SealpostError, UnavailableError} from './errors.js';
export {Publisher} from './publisher.js';
