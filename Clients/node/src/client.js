import {randomUUID} from 'node:crypto';
import {setTimeout as sleep} from 'node:timers/promises';

import {AbortError, InterferenceError, ProblemError, SealpostError, UnreachableError} from './errors.js';
import {Exchange} from './exchange.js';
import {checkEnd, checkLimits, checkNumbers, checkedKey, isObject, jsonOf, mustBe, nameIn, optionsOf, read, refuse, textOf, user as expressionOf} from './wire.js';

/** The limits of a batch. The server's default limit for the bytes of a batch is 4 MiB. */
const BATCH = {count: 500, bytes: 4_000_000};
/** The longest delay before a retry without `Retry-After`, in milliseconds. */
const LONGEST_DELAY = 30_000;

/** The methods of the API, and whether their requests have bodies. `fetch` refuses other methods. */
const METHODS = new Map([['GET', false], ['HEAD', false], ['POST', true], ['PUT', true], ['PATCH', true], ['DELETE', true]]);

const BATCHES = '/api/notifications/batch', NOTIFICATIONS = '/api/notifications';
/**
 * Encodes all but letters, digits, `-`, `.` and `_`: the server signs paths and queries as the
 * client has sent them.
 */
const escape = value => encodeURIComponent(value).replace(/[!~*'()]/g, character => `%${character.charCodeAt(0).toString(16).toUpperCase()}`);

/** The path of a user. Throws for a name that no user can have. */
function userPath(name, part = '') {
  const path = `/api/users/${escape(nameIn(expressionOf(name)))}`;
  if (/\/\.{1,2}$/.test(path)) throw new TypeError(`'${name}' cannot be a part of a path: \`fetch\` would remove it`);
  return path + part;
}

/**
 * The path of a notification. JavaScript would round a number beyond 2^53, to the id of another
 * notification.
 */
function pathOf(id, part = '') {
  if (!Number.isSafeInteger(id)) throw new TypeError(`${String(id).slice(0, 40)} is no id of a notification`);
  return `${NOTIFICATIONS}/${id}${part}`;
}

/**
 * A backend's connection to a Sealpost server, for one account. All calls retry until their
 * deadline, if a repetition has no second effect. `call` is for routes without a method here.
 */
export class Client {
  #exchange;
  #deadline;
  #retryDelay;

  constructor(settings) {
    mustBe('an object', {options: settings});
    const {deadline = 60_000, retryDelay = 250, ...options} = settings;
    checkLimits({deadline});
    checkNumbers({retryDelay});
    this.#exchange = new Exchange(options);
    this.#deadline = deadline;
    this.#retryDelay = retryDelay;
  }

  /**
   * The account's identifier: that of the options, or that of the first answer; null before the
   * first answer.
   */
  get account() {
    return this.#exchange.account;
  }

  /** The time limit of a call without its own, in milliseconds. */
  get deadline() {
    return this.#deadline;
  }

  /**
   * Sends a notification. All calls with the same `key` within 24 hours send it only once, even in
   * several processes.
   */
  async send(notification, options) {
    const {key = randomUUID(), ...others} = optionsOf(options);
    const answer = await this.#ask('POST', NOTIFICATIONS, {text: textOf(notification), key: checkedKey(key)}, others);
    return sent(answer.json, answer);
  }

  /**
   * Sends any number of notifications, in batches. Returns an outcome for each, as
   * `Promise.allSettled` does.
   *
   * With the same `key` and the same notifications, a repeated call sends nothing twice. The
   * deadline is for all batches together.
   */
  async sendMany(notifications, options) {
    const {key = randomUUID(), deadline = this.#deadline, ...others} = optionsOf(options);
    if (typeof notifications?.[Symbol.iterator] !== 'function') throw new TypeError('notifications: the value is not iterable');
    checkedKey(key);
    checkLimits({deadline});
    const outcomes = [], end = performance.now() + deadline;
    for (const [number, texts] of batches([...notifications].map(textOf)).entries()) {
      const left = Math.max(1, end - performance.now());
      outcomes.push(...await this.#sendBatch(texts, `${key}-${number}`, key, {...others, deadline: left}));
    }
    return outcomes;
  }

  /**
   * Sends a batch, and repeats all of it as long as elements fail temporarily. All repetitions
   * have the same key, so the server stores each element once.
   */
  async #sendBatch(texts, key, idempotencyKey, options) {
    let outcomes = [];
    const check = answer => {
      const list = answer.json?.Outcomes;
      if (!Array.isArray(list) || list.length !== texts.length) throw unexpected(answer, 'an outcome for each notification');
      outcomes = list.map(outcome => {
        if (outcome?.Status === 201) return {status: 'fulfilled', value: sent(outcome, answer)};
        const reason = ProblemError.from(outcome?.Problem, outcome?.Status === 429 ? quotaDelay(answer, texts.length) : null);
        if (!reason) throw unexpected(answer, 'a notification or a problem');
        return {status: 'rejected', reason: Object.assign(reason, {idempotencyKey})};
      });
      const failed = outcomes.find(({reason}) => reason?.isTransient);
      if (failed) throw failed.reason;
    };
    try {
      await this.#ask('POST', BATCHES, {text: `{"Notifications":[${texts.join()}]}`, key, check}, options);
    } catch (reason) {
      if (reason instanceof AbortError) throw Object.assign(reason, {idempotencyKey});
      if (!(reason instanceof SealpostError)) throw reason;
      // If there was a complete answer before, its outcomes are returned.
      if (outcomes.length === 0) outcomes = texts.map(() => ({status: 'rejected', reason: Object.assign(reason, {idempotencyKey})}));
    }
    return outcomes;
  }

  /** Recalls a notification from all recipients, or cancels a scheduled one. */
  async recall(id, options) {
    return this.#delete(pathOf(id), options);
  }

  /**
   * The number of a notification's pushes by state, and the time of its sending while it is
   * scheduled.
   */
  async counts(id, options) {
    const answer = await this.#ask('GET', pathOf(id, '/deliveries'), {query: {limit: 1}}, options);
    if (!isObject(answer.json?.Counts)) throw unexpected(answer, 'counts');
    const {sendAt, counts} = read(answer.json);
    return {sendAt, counts};
  }

  /** The pushes of a notification, one for each device. */
  async *deliveries(id, options) {
    yield* this.#pages(pathOf(id, '/deliveries'), 'Deliveries', options);
  }

  /**
   * The recipients of a notification, with the times at which they have fetched, read and
   * dismissed it.
   */
  async *recipients(id, options) {
    yield* this.#pages(pathOf(id, '/recipients'), 'Recipients', options);
  }

  /**
   * The page of events after `cursor`; without a cursor, the oldest events. Store its `cursor`
   * together with the effects of the events.
   */
  async events(options) {
    const {cursor, limit = 500, ...others} = optionsOf(options), page = await this.#page('/api/events', 'Events', {cursor, limit}, others);
    return {events: page.items, cursor: page.cursor, more: page.more, truncated: page.json.Truncated === true};
  }

  /** The tags that are assigned to a user. */
  async tags(user, options) {
    const answer = await this.#ask('GET', userPath(user, '/tags'), {}, options);
    if (!Array.isArray(answer.json?.Tags)) throw unexpected(answer, 'tags');
    return answer.json.Tags;
  }

  /** Replaces the tags that are assigned to a user. */
  async setTags(user, tags, options) {
    mustBe('a list of texts', {tags});
    await this.#ask('PUT', userPath(user, '/tags'), {text: JSON.stringify({Tags: tags})}, options);
  }

  /** Makes a user, without a password if you pass none. Is not retried. */
  async addUser(user, options) {
    const {role = 'device', password, ...others} = optionsOf(options);
    expressionOf(user);  // Checks the name.
    const secret = password === undefined ? {WithoutPassword: true} : {Password: password};
    await this.#ask('POST', '/api/users', {text: JSON.stringify({Name: user, Role: role, ...secret})}, others);
  }

  /** Disables a user, or enables the user again. */
  async setDisabled(user, isDisabled, options) {
    mustBe('a boolean', {isDisabled});
    await this.#ask('PATCH', userPath(user), {text: JSON.stringify({Disabled: isDisabled})}, options);
  }

  /** Deletes a user with all devices and tokens. */
  async deleteUser(user, options) {
    return this.#delete(userPath(user), options);
  }

  /** The devices of a user. */
  async *devices(user, options) {
    expressionOf(user);  // Checks the name.
    yield* this.#pages('/api/devices', 'Devices', options, {user});
  }

  /** The server's version and faults, and its queues. */
  async status(options) {
    const answer = await this.#ask('GET', '/api/status', {}, options), {Version: version, Troubles: troubles, Lanes: lanes} = answer.json ?? {};
    if (!Array.isArray(troubles) || !Array.isArray(lanes) || !lanes.every(isObject)) throw unexpected(answer, 'the status of a server');
    const laneOf = ({Name: name, Pending: pending, OverdueSeconds: overdueSeconds, Pause: pause}) =>
      ({name, pending, overdueSeconds, pauseReason: pause?.Reason ?? null});
    return {version, troubles, lanes: lanes.map(laneOf)};
  }

  /** The users of a tag expression with the keys of their devices, for an `Encryption`. */
  async deviceKeys(expression, options) {
    const {app, ...others} = optionsOf(options);
    mustBe('a text', {expression});
    if (app !== undefined) mustBe('a text', {app});
    const answer = await this.#ask('GET', '/api/keys', {query: {to: expression, app}}, others), users = answer.json?.Users;
    const isUser = ({Name, Account, Devices}) => typeof Name === 'string' && typeof Account === 'string' && Array.isArray(Devices)
      && Devices.every(device => isObject(device) && (device.Key === null || typeof device.Key === 'string'));
    if (!Array.isArray(users) || !users.every(user => isObject(user) && isUser(user))) throw unexpected(answer, 'users with keys');
    if (new Set(users.map(({Name}) => Name.toLowerCase())).size < users.length) throw unexpected(answer, 'each user once');
    // The list for one user must not have keys of other users.
    const name = nameIn(expression);
    if (name && users.some(({Name}) => Name.toLowerCase() !== name.toLowerCase())) throw unexpected(answer, `keys of ${name}`);
    return users.map(({Name, Account, Devices}) => ({name: Name, account: Account, keys: Devices.map(({Key}) => Key)}));
  }

  /**
   * Sends any request of the API, and returns the answer's JSON with the API's own names; undefined
   * if the answer has no body. Retries a `POST` if it has a key.
   */
  async call(method, path, options) {
    const {body, key, query, ...others} = optionsOf(options);
    // Another path would become a part of the host's name, and that host would get the token.
    if (!String(path).startsWith('/')) throw new TypeError('a path begins with a slash, such as /api/users');
    // `fetch` leaves out what follows a `#`, so that /api/users/a#b would be the user a, and resolves dots.
    if (path.includes('#') || new URL(`http://x${path}`).href !== `http://x${path}`) throw new TypeError(`path: percent-encode the names in ${path.slice(0, 100)}`);
    if (!METHODS.has(method)) throw new TypeError(`method: ${String(method).slice(0, 40)} is not one of ${[...METHODS.keys()].join(', ')}`);
    if (body !== undefined && !METHODS.get(method)) throw new TypeError(`body: a request with ${method} has no body; use \`query\``);
    const text = body === undefined ? undefined : jsonOf(body);
    return (await this.#ask(method, path, {query, text, key: key === undefined ? undefined : checkedKey(key)}, others)).json;
  }

  /** Deletes something. Returns false if it does not exist, for example after a lost answer. */
  async #delete(path, options) {
    try {
      await this.#ask('DELETE', path, {}, options);
    } catch (error) {
      if (error.code !== 'not-found' || ![404, 410].includes(error.status)) throw error;
      return false;
    }
    return true;
  }

  async #page(path, name, query, options) {
    const answer = await this.#ask('GET', path, {query}, options), {json} = answer, list = json?.[name];
    if (!Array.isArray(list) || !list.every(isObject) || typeof json.More !== 'boolean') throw unexpected(answer, 'a page of a list');
    // A list with the same cursor again would have no end.
    if (json.More && (typeof json.Cursor !== 'string' || json.Cursor === query.cursor)) throw unexpected(answer, 'a cursor');
    return {items: list.map(read), json, cursor: json.Cursor, more: json.More};
  }

  /** The entries of all pages of a list. */
  async *#pages(path, name, options, query = {}) {
    let {cursor, limit = 500, ...others} = optionsOf(options);
    for (let more = true; more;) {
      const page = await this.#page(path, name, {...query, cursor, limit}, others);
      yield* page.items;
      ({cursor, more} = page);
    }
  }

  /**
   * The answer to a request, with retries. `check` reads the answer; if it throws a temporary
   * error, there is another attempt. The last argument has the caller's options.
   */
  async #ask(method, path, {query = {}, text: body, key, check}, options) {
    const {deadline = this.#deadline, signal, ...others} = optionsOf(options);
    refuse(others);
    checkEnd({deadline, signal});
    const isRepeatable = method !== 'POST' || key !== undefined, end = performance.now() + deadline;
    const pairs = Object.entries(query).filter(([, value]) => value !== undefined).map(([name, value]) => `${name}=${escape(value)}`);
    // A path with a query is divided, since the server signs the two apart.
    const [, place, own] = /^([^?]*)\??(.*)$/s.exec(path), whole = [own, ...pairs].filter(pair => pair !== '').join('&');
    const request = {method, path: place, query: whole === '' ? null : whole, body, key};
    for (let attempts = 1; ; attempts += 1) {
      try {
        const answer = await this.#exchange.ask(request, {timeout: Math.max(0, end - performance.now()), signal});
        check?.(answer);
        return answer;
      } catch (error) {
        if (!(error instanceof SealpostError)) throw error;
        error.attempts = attempts;
        error.idempotencyKey ??= key ?? null;
        const backoff = Math.min(this.#retryDelay * 2 ** (attempts - 1), Math.max(this.#retryDelay, LONGEST_DELAY));
        const delay = backoff * (0.5 + Math.random() / 2) + (error.retryAfter ?? 0) * 1000;
        if (!mayRepeat(error, isRepeatable) || performance.now() + delay >= end) throw error;
        // The next attempt throws at once if the signal has ended the delay.
        await sleep(delay, undefined, {signal}).catch(() => {});
      }
    }
  }
}

/**
 * Divides texts into groups, each of which fits into one request. The same texts always give the
 * same groups.
 */
function batches(texts) {
  const groups = [];
  let bytes = 0;
  for (const text of texts) {
    const size = Buffer.byteLength(text) + 1;
    if (groups.length === 0 || groups.at(-1).length === BATCH.count || bytes + size > BATCH.bytes) {
      groups.push([]);
      bytes = 0;
    }
    groups.at(-1).push(text);
    bytes += size;
  }
  return groups;
}

/** Whether another attempt may succeed, without a second effect. */
function mayRepeat(error, isRepeatable) {
  if (error instanceof UnreachableError) return isRepeatable || !error.wasSent;
  // A request that the server refuses with 429 has had no effect.
  return error.isTransient && (isRepeatable || (error instanceof ProblemError && error.status === 429));
}

const unexpected = (answer, expected) => new InterferenceError('unexpectedBody', expected, answer);

/** The accepted notification of an answer. */
function sent(json, answer) {
  const {status: _, ...notification} = isObject(json) ? read(json) : {}, {id, createdAt, expiresAt, sendAt, more} = notification;
  const areTimes = [createdAt, expiresAt, sendAt ?? createdAt].every(time => time instanceof Date && !Number.isNaN(time.getTime()));
  if (!Number.isSafeInteger(id) || typeof more !== 'boolean' || !areTimes) throw unexpected(answer, 'an accepted notification');
  return notification;
}

/**
 * The seconds until the rate limit allows a whole batch of `count` again, according to
 * `RateLimit-Policy`; null if that is unknown.
 */
function quotaDelay(answer, count) {
  const found = /;q=([0-9]{1,9});w=([0-9]{1,9})/.exec(answer.field('ratelimit-policy') ?? '');
  return found && Number(found[1]) > 0 ? Math.ceil(count * Number(found[2]) / Number(found[1])) : null;
}
