/** Options of a call. */
export interface CallOptions {
  /** The time limit of the call with all its retries, in milliseconds. */
  deadline?: number;
  /** Ends the call when it is aborted; the call then throws an `AbortError`. */
  signal?: AbortSignal;
}

/** Options of a post. */
export interface SendOptions extends CallOptions {
  /**
   * A key that makes a repetition of the call safe for 24 hours, even in another process. It has 1
   * to 200 visible ASCII characters without quotes and backslashes, such as the number of an
   * order. Default: a random key, which makes the retries of this call safe.
   */
  key?: string;
}

/** Options of a list. */
export interface ListOptions extends CallOptions {
  /** Continues after this entry. */
  cursor?: string;
  /** The number of entries in each request, 1 to 500. */
  limit?: number;
}

/**
 * A public key that signs answers: 32 bytes in base64url for Ed25519, or a JSON Web Key of Ed25519
 * or P-256.
 */
export type VerificationKey = string | {kty: 'OKP'; crv: 'Ed25519'; x: string} | {kty: 'EC'; crv: 'P-256'; x: string; y: string};

export interface ClientOptions {
  /** The server's URL. */
  server: string | URL;
  /**
   * The account's bearer token with the scope `send`, or a function that the client calls for each
   * attempt. If the function fails, the client calls it again. If it returns no token, the call
   * throws a `SealpostError` at once.
   */
  token: string | ((signal: AbortSignal) => string | Promise<string>);
  /**
   * The pinned keys: the present key and the next. Without keys, answers are not signed, and only
   * `MyToken` authenticates them.
   */
  signingKeys?: readonly [VerificationKey, ...VerificationKey[]];
  /** The identifier of the token's account. Default: the identifier in the first answer. */
  account?: string | null;
  /** The time limit of a call with all its retries, in milliseconds (60,000). */
  deadline?: number;
  /** The time limit of each attempt, in milliseconds (10,000). */
  timeout?: number;
  /**
   * The delay before the first retry, in milliseconds (250). Each further delay is twice as long,
   * up to 30 seconds.
   */
  retryDelay?: number;
  /**
   * The largest accepted difference between the clocks of server and backend for signed answers,
   * in seconds (300).
   */
  signatureTolerance?: number;
  /** The maximum size of an answer, in bytes (16 MiB). */
  answerLimit?: number;
  /**
   * Allows `http` for other hosts than this machine. On the way there, others can read the token.
   */
  isInsecureAllowed?: boolean;
  /** Replaces the global `fetch`, for example to use a proxy. */
  fetch?: (url: string, init: any) => Promise<any>;
}

/**
 * The text that pushes show until the payload is fetched. The server's configuration must list
 * each value.
 */
export interface Alert {
  template?: string;
  titleKey?: string;
  bodyKey?: string;
  category?: string;
  thread?: string;
  sound?: string;
  channel?: string;
  interruptionLevel?: 'passive' | 'active' | 'time-sensitive' | 'critical';
  badge?: number;
}

/** A notification to send; docs/api.md describes its members. */
export interface Notification {
  /** A string or any other JSON value except null. */
  payload: unknown;
  /**
   * Tag expressions, such as `username:alice` or `news && !beta`. Default: the user of the token.
   */
  to?: string | readonly string[];
  app?: string;
  platforms?: readonly string[];
  /** When the server sends the notification, at most 30 days ahead. Default: now. */
  sendAt?: Date | string;
  /** Seconds from the sending until the payload expires. */
  expiresIn?: number;
  priority?: 'high' | 'normal';
  collapseKey?: string;
  store?: 'cacheable' | 'never';
  readOnce?: boolean;
  /** The name of a template of the server's configuration, or an `Alert`. */
  alert?: string | Alert;
}

/** An accepted notification, with the values of all options, including defaults. */
export interface Sent {
  readonly id: number;
  readonly createdAt: Date;
  readonly sendAt: Date | null;
  readonly expiresAt: Date;
  readonly app: string;
  readonly to: string[];
  readonly platforms: string[] | null;
  readonly priority: 'high' | 'normal';
  readonly collapseKey: string | null;
  readonly store: 'cacheable' | 'never';
  readonly readOnce: boolean;
  readonly alert: string | Alert | null;
  /**
   * The number of recipients; null before `sendAt`, and while the server still looks for the
   * devices of a large broadcast.
   */
  readonly recipients: number | null;
  /** The number of pushes; null as long as `recipients` is null. */
  readonly pushes: number | null;
  readonly more: boolean;
}

/**
 * The tag expression of one user. Throws for a name with characters that could change the
 * expression.
 */
export function user(name: string): string;

export type DeliveryState = 'queued' | 'sending' | 'accepted' | 'fetched' | 'read' | 'expired' | 'failed' | 'cancelled';

/** A push to one device. */
export interface Delivery {
  /** Null if the registration was deleted. */
  readonly device: string | null;
  /** Null if the user was deleted. */
  readonly user: string | null;
  readonly app: string;
  readonly platform: string;
  readonly state: DeliveryState;
  readonly attempts: number;
  readonly updatedAt: Date | null;
  /** The provider's or the server's reason for this state. */
  readonly reason: string | null;
}

/** A recipient of a notification. */
export interface Recipient {
  /** Null if the user was deleted. */
  readonly user: string | null;
  readonly fetchedAt: Date | null;
  readonly readAt: Date | null;
  readonly dismissedAt: Date | null;
}

/**
 * The outcome of a push, the first fetch of a notification, or the end of a registration: see
 * docs/operate/events.md.
 */
export interface Event {
  /** A number that is higher than those of all earlier events. Numbers may be missing. */
  readonly number: number;
  readonly at: Date;
  readonly kind: 'accepted' | 'failed' | 'expired' | 'cancelled' | 'collected' | 'retired';
  readonly notification: number | null;
  readonly device: string | null;
  readonly user: string | null;
  readonly app: string | null;
  readonly platform: string | null;
  readonly reason: string | null;
}

/** A device of a user. */
export interface Device {
  readonly id: string;
  readonly state: 'requested' | 'registered' | 'retired';
  /** Null unless the device is registered, as are its platform and tags. */
  readonly app: string | null;
  readonly platform: string | null;
  readonly tags: string[] | null;
  readonly registeredAt: Date | null;
  readonly lastPush: Date | null;
  readonly lastFetch: Date | null;
  readonly retiredAt: Date | null;
  /** Why the device is retired. */
  readonly reason: string | null;
}

/** The state of the server. */
export interface Status {
  readonly version: string;
  /** The faults that keep the server from storing or returning notifications. */
  readonly troubles: string[];
  /** The queues of the senders; `pauseReason` is the provider's answer while a lane is paused. */
  readonly lanes: {name: string; pending: number; overdueSeconds: number; pauseReason: string | null}[];
}

/** A page of events. */
export interface EventPage {
  readonly events: Event[];
  /**
   * The cursor for the events after this page; store it together with the effects of the events.
   */
  readonly cursor: string;
  /** Whether another page follows. */
  readonly more: boolean;
  /** Whether events before this page have expired, so that some may be missing. */
  readonly truncated: boolean;
}

/**
 * A backend's connection to a Sealpost server, for one account. Calls retry until their deadline,
 * if a repetition has no second effect.
 */
export class Client {
  constructor(options: ClientOptions);
  /**
   * The account's identifier: that of the options, or that of the first answer; null before the
   * first answer.
   */
  get account(): string | null;
  /** The time limit of a call without its own, in milliseconds. */
  get deadline(): number;
  /** Sends a notification. */
  send(notification: Notification, options?: SendOptions): Promise<Sent>;
  /**
   * Sends any number of notifications, in batches; the deadline is for all batches together.
   * Returns an outcome for each, in their order.
   */
  sendMany(notifications: Iterable<Notification>, options?: SendOptions): Promise<PromiseSettledResult<Sent>[]>;
  /**
   * Recalls a notification from all recipients, or cancels a scheduled one. The token also needs
   * the scope `fetch`. Resolves to false if this account has no such notification: it has expired,
   * or an earlier call or attempt has recalled it.
   */
  recall(id: number, options?: CallOptions): Promise<boolean>;
  /**
   * The number of a notification's pushes by state, and the time of its sending while it is
   * scheduled.
   */
  counts(id: number, options?: CallOptions): Promise<{sendAt: Date | null; counts: Record<DeliveryState, number>}>;
  /** The pushes of a notification, one for each device. */
  deliveries(id: number, options?: ListOptions): AsyncGenerator<Delivery, void, undefined>;
  /** The recipients of a notification. */
  recipients(id: number, options?: ListOptions): AsyncGenerator<Recipient, void, undefined>;
  /** The page of events after `cursor`; without a cursor, the oldest events. */
  events(options?: ListOptions): Promise<EventPage>;
  /** The tags that are assigned to a user. The token needs the scope `manage`. */
  tags(user: string, options?: CallOptions): Promise<string[]>;
  /** Replaces the tags that are assigned to a user. The token needs the scope `manage`. */
  setTags(user: string, tags: readonly string[], options?: CallOptions): Promise<void>;
  /**
   * Makes a user, without a password if you pass none. Throws the problem `conflict` if the user
   * exists. This call and the next four need an administrator's token with the scope `manage`.
   */
  addUser(user: string, options?: CallOptions & {role?: 'device' | 'viewer' | 'publisher' | 'admin'; password?: string}): Promise<void>;
  /** Disables a user, whom the server then refuses at once, or enables the user again. */
  setDisabled(user: string, isDisabled: boolean, options?: CallOptions): Promise<void>;
  /**
   * Deletes a user with all devices and tokens. Resolves to false if there is no such user, also if
   * an attempt whose answer was lost has deleted the user.
   */
  deleteUser(user: string, options?: CallOptions): Promise<boolean>;
  /** The devices of a user. */
  devices(user: string, options?: ListOptions): AsyncGenerator<Device, void, undefined>;
  /** The server's version and faults, and its queues. */
  status(options?: CallOptions): Promise<Status>;
  /** The users of a tag expression with the keys of their devices, for an `Encryption`. */
  deviceKeys(expression: string, options?: CallOptions & {app?: string}): Promise<UserKeys[]>;
  /**
   * Sends any request of the API, and returns the answer's JSON with the API's own names. Retries a
   * `POST` if it has a key. Throws a `TypeError` for another method than GET, HEAD, POST, PUT, PATCH
   * and DELETE, and for a body with GET or HEAD.
   */
  call(method: string, path: string, options?: SendOptions & {body?: unknown; query?: Record<string, string | number>}): Promise<any>;
}

/** The codes of docs/errors.md. A newer server may have others. */
export type ProblemCode =
  | 'account-refused' | 'alert-not-allowed' | 'audience-too-large' | 'busy' | 'confirmation-refused' | 'conflict' | 'cross-origin'
  | 'database-unusable' | 'encryption-required' | 'enrolment-refused' | 'forbidden' | 'header-too-large'
  | 'idempotency-key-in-use' | 'idempotency-key-reused'
  | 'insufficient-scope' | 'internal-error' | 'invalid-cursor' | 'invalid-idempotency-key' | 'invalid-json'
  | 'invalid-member' | 'invalid-mytoken' | 'invalid-parameter' | 'invalid-token' | 'issuer-unavailable'
  | 'last-administrator' | 'malformed-request' | 'method-not-allowed' | 'misdirected-request' | 'not-found'
  | 'not-implemented' | 'nothing-to-confirm' | 'payload-too-large' | 'precondition-failed' | 'push-not-waiting'
  | 'rate-limited' | 'registration-gone' | 'request-timeout' | 'storage-full' | 'target-too-long' | 'token-expired'
  | 'too-many-attempts' | 'too-many-confirmations' | 'too-many-devices' | 'too-many-streams' | 'too-much-stored'
  | 'unauthorized' | 'unknown-app' | 'unknown-member' | 'unknown-parameter' | 'unknown-platform' | 'unknown-user'
  | 'unsupported-expectation' | 'unsupported-signature' | 'version-not-supported' | 'wrong-password';

/** A failure of a call. */
export class SealpostError extends Error {
  /** Whether a later repetition of the call may succeed. */
  readonly isTransient: boolean;
  /** The key of a failed post: a repetition with this key is safe. Null for other calls. */
  readonly idempotencyKey: string | null;
}

/** A refusal of the server. */
export class ProblemError extends SealpostError {
  private constructor();
  readonly code: ProblemCode;
  readonly status: number;
  readonly title: string;
  readonly detail: string | null;
  /** The request's id in the server's log. */
  readonly instance: string | null;
  /** In seconds. */
  readonly retryAfter: number | null;
}

/**
 * No answer of the server in time: the network, the server or a load balancer has failed.
 */
export class UnreachableError extends SealpostError {
  private constructor();
  /** Whether the request may have had an effect. */
  readonly wasSent: boolean;
  /** The status of a load balancer's answer; null if there was none. */
  readonly status: number | null;
  readonly retryAfter: number | null;
}

/**
 * The caller's signal has ended the call, so its effect is unknown. `cause` is the signal's reason.
 */
export class AbortError extends SealpostError {
  private constructor();
}

export type InterferenceKind =
  | 'redirect' | 'missingEcho' | 'wrongEcho' | 'oversized' | 'insufficientCoverage' | 'signature' | 'wrongClock' | 'wrongAccount'
  | 'unexpectedNotModified' | 'notJSON' | 'unexpectedBody';

/**
 * An answer that is not the server's own answer to this request. The error is safe to log. Calls
 * repeat requests after the statuses of temporary failures, such as a load balancer's 503.
 */
export class InterferenceError extends SealpostError {
  private constructor();
  readonly kind: InterferenceKind;
  readonly status: number;
  readonly path: string;
  /** In seconds. */
  readonly retryAfter: number | null;
}

/** A message to a webhook that does not come from the server, is too old, or is not JSON. */
export class InvalidMessageError extends SealpostError {}

/** A verified message of the server. */
export type WebhookMessage = {readonly id: string; readonly sentAt: Date} & (
  /** A push: wake the device of `handle`, which fetches the notification `secureId`. */
  | {readonly type: 'push'; readonly secureId: string; readonly handle: string; readonly alert: object | null; readonly accountHint: string | null}
  /**
   * A confirmation code: give it to the device of `handle`, which uses it to prove that the handle
   * is its own.
   */
  | {readonly type: 'confirmation'; readonly handle: string; readonly code: string}
  | {readonly type: 'events'; readonly events: Event[]}
  /** A message of a kind that only later servers send. */
  | {readonly type: 'other'; readonly json: unknown}
);

/**
 * The text of `secretFile`, or a list of its lines. While one secret replaces another, there are
 * two lines.
 */
export type WebhookSecrets = string | readonly string[];

/** Verifies the messages that the server posts. */
export class Webhook {
  /**
   * The maximum number of bytes of a message. A longer body does not come from Sealpost: do not
   * read it.
   */
  static readonly maximumBody: number;
  /** `tolerance` is the largest accepted age of a message in seconds (300). */
  constructor(secrets: WebhookSecrets, options?: {tolerance?: number});
  /**
   * Verifies a message, and returns it. Throws an `InvalidMessageError` if no secret has signed it,
   * if its time differs from `now`, in seconds since 1970, by more than the tolerance, or if it is
   * not JSON. `body` has the received bytes, or their text, before any parser. Skip messages whose
   * `id` you have already handled.
   */
  verify(
    headers: Record<string, string | string[] | undefined> | {get(name: string): string | null}, body: Uint8Array | string, now?: number,
  ): WebhookMessage;
  /**
   * A listener for `node:http` that gives each verified message to `handle` once. It answers 204
   * after `handle` has finished, and 500 if `handle` has failed: the server then repeats the
   * message. The ids of handled messages are cached in memory, 10,000 by default, so after a
   * restart `handle` may get a message again.
   */
  listener(
    handle: (message: WebhookMessage) => void | Promise<void>, options?: {cachedIDs?: number},
  ): (request: any, response: any) => Promise<void>;
}

/**
 * A user with the keys of the user's devices, as the server lists them. The key of a device
 * without end-to-end encryption is null.
 */
export interface UserKeys {
  name: string;
  account: string;
  keys: (string | null)[];
}

/**
 * A backend's key pair for end-to-end encryption; docs/end-to-end.md in Sealpost's repository
 * explains it.
 */
export class SenderKey {
  private constructor();
  /** Reads a private key of P-256 in PKCS #8, as `pem()` and OpenSSL write it. */
  static read(pem: string): SenderKey;
  static generate(): SenderKey;
  readonly id: string;
  /** The public key in 87 characters, which the app has as a constant. */
  readonly text: string;
  /** The private key as a PEM text. Protect it like the token. */
  pem(): string;
}

/**
 * The public keys of one device, with the approvals by other devices. The constructor throws an
 * `UnreadableError`.
 */
export class DeviceKey {
  constructor(text: string);
  readonly id: string;
  readonly account: string;
  /** A digest of the keys in 30 digits, which people can compare on two screens. */
  readonly fingerprint: string;
}

/** A difference between the server's list and the pins; `key` is the id of a device key. */
export interface KeyChange {
  user: string;
  kind: 'first' | 'added' | 'unapproved' | 'missing' | 'returned' | 'invalid' | 'account' | 'skipped';
  key: string | null;
  fingerprint?: string;
}

/** A user's device to encrypt for. */
export interface DeviceRecipient {
  user: string;
  key: DeviceKey;
}

/**
 * The device keys that this backend has seen. Store `values`, which is JSON, after each call that
 * has reported changes, and after `trust`, `distrust` and `forget`.
 */
export class Pins {
  /**
   * If `trustsFirstContact` is false, nothing is encrypted for a new user before a call of
   * `trust`. Throws for values that pins never had.
   */
  constructor(values?: object, options?: {trustsFirstContact?: boolean});
  readonly values: Record<string, unknown>;
  /** Accepts a device after somebody has compared its fingerprint. */
  trust(user: string, key: DeviceKey): void;
  /**
   * Ends the encryption for a device, such as a lost phone, even if the server lists it. `key` is
   * the id of the device's key, as in a change, also of a device that these pins have not seen.
   * Throws for a user without pins.
   */
  distrust(user: string, key: string): void;
  /** Forgets a user, for example one who was deleted and created again. */
  forget(user: string): void;
  /** The devices of a user that may be trusted, and the changes since the last check. */
  check(user: string, account: string, texts: Iterable<string>): {recipients: DeviceRecipient[]; changes: KeyChange[]};
}

/** Encrypts payloads of one sender, so that the server cannot read them. */
export class Encryption {
  /**
   * `changed` is called with the changes of keys before anything is sent. If it throws or rejects,
   * nothing is sent, and the next call reports the changes again. It runs to its end even if the
   * deadline or the signal ends the call, which then sends nothing. `send` and `encrypted` call it
   * once with all changes. `prepare` calls it once for each user, since another call may send
   * meanwhile. `maximumPayload` is the maximum number of bytes of a payload's JSON text;
   * docs/end-to-end.md has its value for a server with another `notifications.maxPayload`.
   */
  constructor(key: SenderKey, pins: Pins, options: {changed: (changes: KeyChange[]) => void | Promise<void>; maximumPayload?: number});
  readonly pins: Pins;
  /**
   * Sends a notification to the trusted devices of its recipients, as `client.send` does.
   *
   * All attempts of the call post the same text. A repeated call encrypts again, so the server
   * refuses the same key as `idempotency-key-reused`. To repeat a call after a restart, store the
   * payload of `encrypted`, and send that with `client.send` and the key. If you use each key for
   * one notification only, you can also treat the refusal as success: an earlier call with the key
   * was stored. The deadline is for the requests of the keys and the post together.
   */
  send(client: Client, notification: Notification, options?: SendOptions): Promise<Sent>;
  /**
   * Makes the key agreements for recipients ahead, and encrypts for practice, so that V8 compiles
   * the code. If you call it at the start and then every half an hour, no payload waits for this.
   */
  prepare(client: Client, to: string | readonly string[], options?: CallOptions & {app?: string}): Promise<void>;
  /** The notification with its payload encrypted for the trusted devices of its recipients. */
  encrypted(client: Client, notification: Notification, options?: CallOptions): Promise<Notification>;
  /**
   * Encrypts a payload for these devices. `message` is the id of the message: 16 bytes that you
   * choose and never use again.
   */
  encrypt(payload: unknown, recipients: readonly DeviceRecipient[], options?: {app?: string; message?: Uint8Array; now?: number}): string;
}

/** Thrown if no device of the recipients is trusted; nothing was sent. `changes` say why. */
export class NoTrustedDeviceError extends SealpostError {
  private constructor();
  readonly changes: KeyChange[];
}

/**
 * Thrown for a text that is not a valid device key. docs/end-to-end.md lists the values of
 * `reason`.
 */
export class UnreadableError extends Error {
  readonly reason: string;
}
