/** The statuses after which the same request may succeed. */
export const TRANSIENT = new Set([408, 429, 500, 502, 503, 504, 507]);

/**
 * A failure of a call. `isTransient` says whether a later repetition may succeed. `idempotencyKey`
 * is the key of a failed post: a repetition with this key has no second effect.
 */
export class SealpostError extends Error {
  constructor(message, {cause, ...details} = {}) {
    super(message, cause === undefined ? undefined : {cause});
    this.name = new.target.name;
    this.isTransient = false;
    this.idempotencyKey = null;
    Object.assign(this, details);
  }
}

/**
 * A refusal of the server: `code`, `status`, `title`, `detail`, `instance`, and `retryAfter` in
 * seconds.
 */
export class ProblemError extends SealpostError {
  /** The error of a problem in an answer; null for other JSON. */
  static from(json, retryAfter = null) {
    const {type, title, status, detail = null, instance = null} = json ?? {};
    if (typeof type !== 'string' || typeof title !== 'string' || !Number.isSafeInteger(status)) return null;
    const code = type.replace(/^urn:sealpost:problem:/, '');
    const isTransient = TRANSIENT.has(status) || code === 'idempotency-key-in-use';
    return new ProblemError(`${code}: ${detail ?? title}`, {code, title, status, detail, instance, retryAfter, isTransient});
  }
}

/**
 * No answer of the server in time: the network, the server or a load balancer has failed.
 *
 * `wasSent` is false if the request cannot have had an effect. `status` is the status of a load
 * balancer's answer, or null.
 */
export class UnreachableError extends SealpostError {
  constructor(message, {wasSent = true, status = null, retryAfter = null, cause} = {}) {
    super(message, {wasSent, status, retryAfter, cause, isTransient: true});
  }
}

/**
 * The caller's signal has ended the call, so its effect is unknown. `cause` is the signal's reason.
 * The name is that of the errors of Node's own aborted calls.
 */
export class AbortError extends SealpostError {
  constructor(signal) {
    super('the signal has ended the call', {cause: signal.reason});
  }
}

/**
 * An answer that is not the server's own answer to this request. docs/evidence/vectors explains
 * `kind`. `retryAfter` is in seconds, or null. The error is safe to log.
 */
export class InterferenceError extends SealpostError {
  constructor(kind, expected, {status, path, retryAfter = null}) {
    super(`${kind}: expected ${expected}, status ${status} of ${path}`, {kind, status, path, retryAfter, isTransient: TRANSIENT.has(status)});
  }
}

/** A message to a webhook that does not come from the server, is too old, or is not JSON. */
export class InvalidMessageError extends SealpostError {}
