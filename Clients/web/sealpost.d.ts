/** A notification of the account. */
export interface NotificationItem {
  readonly id: number;
  /** Any JSON value; undefined if `hasPayload` is false. Check its form before use. */
  readonly payload: any;
  readonly hasPayload: boolean;
  readonly isRead: boolean;
  readonly createdAt: Date | null;
  readonly expiresAt: Date | null;
  /** Whether the payload can be fetched only once, with `notification`. */
  readonly isReadOnce: boolean;
  /** Whether the publisher forbids storing the payload. */
  readonly isNeverStored: boolean;
  /**
   * Why the client cannot open the payload, if it is encrypted end to end or should be.
   * `docs/end-to-end.md` lists the values.
   */
  readonly unreadable?: string;
}

/** A page of the inbox. */
export interface Inbox {
  /** The notifications of this page, the oldest first. */
  readonly notifications: NotificationItem[];
  /** The number of notifications in the whole inbox. */
  readonly count: number;
  /** The number of unread notifications in the whole inbox. */
  readonly unreadCount: number;
  /** Whether the inbox has notifications older than this page. */
  readonly hasMore: boolean;
  /** Whether the server has just confirmed this inbox. */
  readonly isFresh: boolean;
  /** When the inbox was last current; null if no sync has reached the last page yet. */
  readonly syncedAt: Date | null;
  /**
   * The reason why the result is the cached inbox; null if it is fresh, or if no request was made.
   */
  readonly failure: PushClientError | null;
}

/**
 * Changes of the inbox since a mark, which stands for the last change that the app has processed.
 */
export interface InboxChanges {
  /** The new or changed notifications. */
  readonly arrived: NotificationItem[];
  /** The ids of notifications to stop showing. */
  readonly deleted: number[];
  /** Whether `arrived` has all notifications, because the mark was missing or too old. */
  readonly isEverything: boolean;
  /** Whether there are more changes. */
  readonly hasMore: boolean;
  /** The mark for the next call; store it together with your own data. */
  readonly mark: string;
}

/** A fetched notification, or a cached notification after a failure. */
export interface Fetched {
  readonly item: NotificationItem;
  readonly isFresh: boolean;
  /** When the server last confirmed a cached notification; null if it is fresh. */
  readonly date: Date | null;
  readonly failure: PushClientError | null;
}

/** A device of the account. */
export interface Device {
  readonly id: string;
  readonly app: string | null;
  readonly platform: string | null;
  /** The topics that the device has joined, in lower case, and the tag for its user. */
  readonly topics: string[];
  readonly isThisDevice: boolean;
  readonly createdAt: Date | null;
  readonly lastPush: Date | null;
  /** When another account registered the device; null if it still belongs to this account. */
  readonly retiredAt: Date | null;
  /** The server's present key of Web Push; null for other platforms. */
  readonly serverKey: string | null;
}

/** A task that waits for the server. */
export interface OutboxTask {
  readonly key: string;
  readonly kind: 'read' | 'dismiss' | 'send';
  readonly ids: number[];
  readonly isRead?: boolean;
  readonly payload?: unknown;
  readonly date: number;
}

/** A task that the client has given up, or a waiting message that is too large for a proxy. */
export interface OutboxFailure extends OutboxTask {
  /**
   * The code of the server's refusal; `payload-too-large` also for a proxy's refusal. Null if a
   * message may or may not have been sent, and it is too late for a retry.
   */
  readonly code: string | null;
  /** The server's whole refusal; null if the server has not refused the task. */
  readonly problem: Problem | null;
}

/** A JSON value except null. TypeScript checks no members, and refuses functions by their symbol. */
export type Payload = string | number | boolean | {readonly [member: string]: any; readonly [Symbol.hasInstance]?: never};

/** The user's actions. The client stores each task, and sends it when it can reach the server. */
export interface Outbox {
  /** Marks notifications as read or unread; true if the server has already accepted the change. */
  markRead(ids: number | number[], isRead?: boolean): Promise<boolean>;
  /** Dismisses a notification on all of the user's devices; true if the server has accepted it by now. */
  dismiss(id: number): Promise<boolean>;
  /**
   * Sends any JSON value except null to the account's own devices. Returns the notification's id,
   * or null if the message waits, or if another tab or the worker has sent it: do not send it
   * again.
   */
  send(payload: Payload): Promise<number | null>;
  /** The number of waiting tasks. */
  count(): Promise<number>;
  /** The waiting tasks, the oldest first. */
  tasks(): Promise<OutboxTask[]>;
  /**
   * The last hundred tasks that the client has given up, and messages that are too large for a
   * proxy, which still wait; the oldest first.
   */
  failures(): Promise<OutboxFailure[]>;
  /**
   * Removes a failed task, after the app has told the user, or a waiting task; has no effect if the
   * task is gone.
   */
  discard(task: OutboxTask): Promise<void>;
}

/** A refusal of the server. */
export interface Problem {
  readonly code: string;
  readonly title: string;
  readonly status: number;
  readonly detail?: string | null;
}

/**
 * The answer of `POST /api/sessions`, or an answer of the same form from the app's own backend.
 */
export interface Token {
  Token: string;
  /** When the token expires, in the form of RFC 3339. */
  ExpiresAt?: string | null;
  /** The account's identifier. The client refuses the token if it knows another identifier. */
  Account?: string;
}

/** An event for logs and counters. It contains no payload, token or id. */
export interface ClientEvent {
  readonly kind: 'request' | 'token' | 'push';
  readonly method: string | null;
  readonly route: string | null;
  readonly status: number | null;
  readonly milliseconds: number;
  /** `answered` if the server has answered, even with a refusal; the page on browsers has the others. */
  readonly outcome: string;
}

/** The keys that may sign answers. With `'unsigned'` the client cannot detect forged answers. */
export type Signatures = {keys: [string, ...string[]]} | 'unsigned';

/** Options of `PushClient.open`. It refuses others, and impossible values, with a `TypeError`. */
export interface OpenOptions {
  signatures: Signatures;
  /** The API's URL; the page's own origin by default. */
  server?: string;
  /** The app's name, if the server sends for several apps: 1 to 64 of `a-z`, `0-9`, `-`, `_`. */
  app?: string | null;
  /** The largest accepted difference between the clocks of server and device, in seconds. */
  signatureTolerance?: number;
  /** The time limit of each call with all its parts, in seconds. */
  deadline?: number;
  /** The maximum size of an answer, in bytes. */
  answerLimit?: number;
  /** The maximum number of notifications in a request. */
  limit?: number;
  /** The source of tokens: a URL of the page's origin, or a function. */
  token?: string | ((whose: {account: string | null; name: string}) => Token | string | null | Promise<Token | string | null>) | null;
  /** Ed25519 for browsers whose WebCrypto lacks it. */
  verifier?: ((publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array) => boolean | Promise<boolean>) | null;
  /** The title of the worker's notifications. */
  title?: string | null;
  icon?: string | null;
  /** The text of a notification whose payload cannot be shown. */
  placeholder?: string;
  /** The page that a click opens; `{id}` stands for the notification's id. */
  page?: string | null;
  /** The service worker's file, on the page's origin. */
  worker?: string;
  /** The service worker's scope, on the page's origin. */
  scope?: string;
  /** A name for the account's stored state, if one origin has several accounts. */
  name?: string;
  /** Whether several accounts share this browser's subscription. */
  isDeviceShared?: boolean;
  /**
   * The public keys of the backends that encrypt end to end for this account's devices, and
   * whether the client refuses unencrypted payloads.
   */
  endToEnd?: {senders: readonly string[]; isRequired?: boolean} | null;
  /** A hook that the client calls after each request, token and push. */
  observe?: ((event: ClientEvent) => void) | null;
  /** A hook that the client calls before each request. It returns header fields to add. */
  headers?: ((request: {method: string; route: string}) => Record<string, string>) | null;
  /** The place of the stored state; IndexedDB by default. */
  store?: MemoryStore | IndexedStore;
}

/** Options of `PushClient.reopen`: the page's stored settings have the others. */
export type OwnOptions = Partial<Omit<OpenOptions,
  'server' | 'app' | 'signatures' | 'signatureTolerance' | 'title' | 'icon' | 'page' | 'placeholder' | 'worker' | 'scope' | 'name' | 'isDeviceShared' | 'endToEnd'>>;

export type ErrorCode =
  | 'offline' | 'interference' | 'unauthorized' | 'signedOut' | 'busy' | 'problem' | 'storage' | 'unavailable' | 'denied' | 'closed'
  | 'notRegistered' | 'refused' | 'keyReplaced' | 'invalidServer' | 'insecureServer' | 'noSignatureKeys';

export type InterferenceKind =
  | 'redirect' | 'missingEcho' | 'wrongEcho' | 'oversized' | 'truncated' | 'insufficientCoverage' | 'signature' | 'wrongClock'
  | 'wrongAccount' | 'unexpectedNotModified' | 'notJSON' | 'unexpectedBody' | 'wrongID';

/** Why an answer is not the server's own. An app may log it. */
export interface Interference {
  readonly kind: InterferenceKind;
  readonly expected: string;
  readonly seen: string | null;
  /** 0 if there is no answer. */
  readonly status: number;
  readonly path: string;
}

export type Advice =
  | 'offline' | 'captivePortal' | 'interference' | 'update' | 'clock' | 'signIn' | 'wait' | 'refused' | 'proxy' | 'storage' | 'unavailable'
  | 'pushService' | 'keyReplaced' | 'app';

/** Texts for users, by the `advice` of an error. */
export const ADVICE: Record<Advice, string>;

/** The reason why a call failed. */
export class PushClientError extends Error {
  constructor(code: ErrorCode, message: string, details?: object);
  readonly code: ErrorCode;
  /** The key in `ADVICE`. */
  get advice(): Advice;
  /** Whether the app should show the cached state. */
  get allowsCached(): boolean;
  readonly interference?: Interference;
  readonly problem?: Problem;
  /** The delay that the server asks for, in seconds. */
  readonly retryAfter?: number | null;
  readonly reason?: 'pushService';
}

/** A client of the API for one account in one browser. Calls throw `PushClientError`. */
export class PushClient {
  private constructor();
  /** Opens the stored state; needs no network. */
  static open(options: OpenOptions): Promise<PushClient>;
  /**
   * For a worker: opens the client with the settings that the page used last; null if no page has
   * used it yet.
   */
  static reopen(name?: string, options?: OwnOptions): Promise<PushClient | null>;
  /** The names of all accounts that this origin has opened. */
  static names(): Promise<string[]>;

  /**
   * The name of the signed-in account, or null. After a sign-out in another tab it is null once a
   * call, or `events`, has thrown `signedOut`.
   */
  readonly account: string | null;
  get settings(): Readonly<Required<OpenOptions>>;
  /** Whether the account is still the one that this client was opened for. */
  isCurrent(): Promise<boolean>;

  /** Exchanges the password for a token, which the client stores encrypted. */
  signIn(username: string, password: string): Promise<void>;
  /** Exchanges a one-time code from an administrator for a token. */
  signInWithCode(code: string): Promise<void>;
  /**
   * Signs in with a token that the client has not fetched itself; `id` is the `Account` of the
   * token's session, and `expiresAt` a date or its `ExpiresAt`.
   */
  useToken(token: string, session: {account: string; id?: string | null; expiresAt?: Date | string | null}): Promise<void>;
  /**
   * Changes the password, and signs in with the new password; call `registerIfNeeded` afterwards.
   */
  changePassword(current: string, next: string): Promise<void>;
  /**
   * Deletes the stored state, then ends device and session at the server; true if the server has
   * confirmed both. False if it has not by the deadline: requests that still run then go on, and
   * the client retries at the next start. False if nobody is signed in; also, without an effect, if
   * another account has signed in since, in another tab. Throws `storage` if the browser has not
   * answered by the deadline, or cannot delete the stored state: call it again.
   */
  signOut(): Promise<boolean>;
  /** Reports pending sign-outs to the server; true if it has confirmed all of them. */
  finishSignOuts(): Promise<boolean>;

  /** The newest notifications of the cache, without a request. */
  cachedInbox(page?: {limit?: number; before?: NotificationItem | null}): Promise<Inbox>;
  /** A cached notification, without a request; null if it is not cached. */
  cachedNotification(id: number): Promise<NotificationItem | null>;
  /** The number of unread notifications, for a badge. */
  cachedBadge(): Promise<number>;
  /** The changes since a mark. */
  changes(mark?: string | null, page?: {limit?: number}): Promise<InboxChanges>;
  /** The changes as they arrive, from this tab, other tabs and the worker. */
  updates(options?: {mark?: string; signal?: AbortSignal}): AsyncGenerator<InboxChanges, void, undefined>;
  /**
   * Sends the outbox, then fetches the changes since the last time. Throws if this fails and the
   * inbox was never current.
   */
  sync(page?: {limit?: number}): Promise<Inbox>;
  /** Fetches a notification, even if its payload can be fetched only once. */
  notification(id: number): Promise<Fetched>;
  /** For a worker: the notification of a push; null if the notification is gone. */
  preview(id: number): Promise<NotificationItem | null>;
  /** Confirms that a read-once payload has arrived, so that the server erases it. */
  confirmTaken(id: number): Promise<void>;

  /**
   * Syncs, closes the shown notifications that are no longer unread, except the one with the id
   * `kept`, and sets the badge. The result is the reason if the sync has failed; otherwise null.
   */
  closeSeen(kept?: number | null): Promise<PushClientError | null>;
  /** The tasks that wait for the server. */
  readonly outbox: Outbox;

  /**
   * Asks for permission, subscribes and registers; returns the device's id. Throws `offline` with
   * the `reason` `pushService` if the browser's push service does not answer in time.
   */
  register(options?: {tags?: string[]}): Promise<string>;
  /**
   * Registers again if something has changed or a week has passed; null if this device was never
   * registered. Throws `signedOut` if nobody is signed in, `denied` if the user no longer allows
   * notifications, and `keyReplaced` if the server lists other end-to-end keys for this device.
   */
  registerIfNeeded(): Promise<string | null>;
  /** The id of this device's registration for Web Push; null if it has none. */
  registrationID(): Promise<string | null>;
  /** Whether a push, given as its text, is for this account. */
  isRecipient(message: string): Promise<boolean>;
  /** Ends this device's registration and its subscription. */
  unregister(): Promise<void>;
  /** Installs the worker. */
  startWorker(): Promise<void>;
  /** The account's devices. */
  devices(): Promise<Device[]>;
  /** The keys of the account's devices, with 30 digits that people compare between two screens. */
  deviceKeys(): Promise<{id: string; isThisDevice: boolean; fingerprint: string}[]>;
  /**
   * Approves another device of the account, after a person has compared the device's fingerprint.
   */
  approveDevice(id: string, fingerprint: string): Promise<void>;
  /** Gives this device's keys to the server again, after `keyReplaced`. */
  setDeviceKey(): Promise<void>;
  /** Ends a device of the account; this one can register again. An unknown id has no effect. */
  endDevice(id: string): Promise<void>;
  /** Adds this device to a topic; throws `notRegistered` before `register`. */
  joinTopic(topic: string): Promise<void>;
  /** Removes this device from a topic. */
  leaveTopic(topic: string): Promise<void>;
  /** Sends a test push to this device; throws `notRegistered` before `register`. */
  testPush(): Promise<{state: 'accepted' | 'queued' | 'failed'; reason: string | null}>;

  /**
   * Notifications as they arrive over an event stream, without Web Push. Throws `keyReplaced` as
   * `registerIfNeeded` does.
   */
  events(options?: {signal?: AbortSignal; silence?: number}): AsyncGenerator<{id: number; item: NotificationItem | null}, void, undefined>;
  /** Closes the database; later calls throw `closed`. */
  close(): void;
}

/** Whether this page can receive pushes. */
export function isPushAvailable(): boolean;
/** The id in a push; null for any other text. */
export function pushedID(message: string): number | null;
/** The hint that identifies a push's account; null if it has none. */
export function pushedHint(message: string): string | null;

/** Stored state in IndexedDB. */
export class IndexedStore {
  private constructor(name: string);
  static open(name: string): Promise<IndexedStore>;
}

/** Stored state in memory, for tests and for browsers without IndexedDB. */
export class MemoryStore {
  constructor();
  private readonly rows;
}

/**
 * Thrown for a text that is not a valid end-to-end payload or device key, or a payload that is not
 * for this device.
 */
export class UnreadableError extends Error {
  constructor(reason: string);
  /** One of the reasons that `docs/end-to-end.md` lists. */
  readonly reason: string;
}

/** The public keys of a device for end-to-end encryption. */
export class DeviceKey {
  /** Reads the text of the keys that a device has registered. */
  static read(text: string): Promise<DeviceKey>;
  readonly text: string;
  readonly id: string;
  readonly account: string;
  readonly fingerprint: string;
}

/**
 * The keys of this device, for apps that open payloads themselves. `PushClient` creates and stores
 * its own keys.
 */
export class DeviceKeys {
  static make(account: string, now?: number): Promise<DeviceKeys>;
  static from(stored: {text: string; signing: CryptoKey; agreement: CryptoKey}): Promise<DeviceKeys>;
  readonly stored: {text: string; signing: CryptoKey; agreement: CryptoKey};
  readonly key: DeviceKey;
  approve(text: string): Promise<string>;
}

/**
 * Opens an end-to-end payload: returns its JSON text, the id of its message, and when it was sent,
 * in seconds since 1970.
 */
export function openPayload(
  payload: unknown,
  options: {device: DeviceKeys; senders: readonly string[]; app?: string; now?: number},
): Promise<{json: string; message: string; sentAt: number}>;
