// The names of the API's members begin with capitals, and those of this library's objects with
// small letters. Payloads are not changed.

const upper = name => name[0].toUpperCase() + name.slice(1), lower = name => name[0].toLowerCase() + name.slice(1);
const isObject = value => typeof value === 'object' && value !== null && !Array.isArray(value);
const renamed = (object, rename, convert = value => value) =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined).map(([name, value]) => [rename(name), convert(value, name)]));

/**
 * Whether a text has half a surrogate pair, which UTF-8 lacks. With the flag `u` a whole pair is
 * one other character.
 */
const hasHalf = value => typeof value === 'string' && /[\ud800-\udfff]/u.test(value);

/**
 * The JSON of a value. Throws for texts, times, numbers, functions and symbols that JSON lacks: as
 * null, or left out, they would have the meaning of the default. Throws for more levels of nesting
 * than the server reads. An error calls the value `what`.
 */
export const jsonOf = (value, what = 'body', maximum = 64, levels = new Map()) => JSON.stringify(value, function (name, converted) {
  if (typeof converted === 'object' && converted !== null) levels.set(converted, (levels.get(this) ?? 0) + 1);
  if (levels.get(converted) > maximum) throw new RangeError(`the ${what} has more than ${maximum} levels of nesting`);
  const own = this[name];
  if ((typeof own === 'number' || own instanceof Date) && !Number.isFinite(Number(own))) throw new TypeError(`${name || what}: ${own} is no value of JSON`);
  if (own !== undefined && /^(undefined|function|symbol)$/.test(typeof converted)) {
    throw new TypeError(`${name || what}: ${typeof own === 'object' ? `a toJSON that returns ${typeof converted}` : `a ${typeof own}`} is no value of JSON`);
  }
  if (hasHalf(name) || hasHalf(converted)) throw new TypeError('a text has half a surrogate pair');
  return converted;
});

/** The names of the members that `index.d.ts` lists. */
export const MEMBERS = {
  notification: ['payload', 'to', 'app', 'platforms', 'sendAt', 'expiresIn', 'priority', 'collapseKey', 'store', 'readOnce', 'alert'],
  alert: ['template', 'titleKey', 'bodyKey', 'category', 'thread', 'sound', 'channel', 'interruptionLevel', 'badge'],
};

/** A copy of an object. Throws for other names, such as `Payload`: in JSON it would replace `payload`. */
function copyOf(kind, object) {
  // A notification without `to` must not get the one of a polluted `Object.prototype`.
  const copy = {__proto__: null, ...object}, other = Object.keys(copy).find(name => !MEMBERS[kind].includes(name));
  if (other !== undefined) throw new TypeError(`${other.slice(0, 40)}: there is no such member of ${kind === 'alert' ? 'an' : 'a'} ${kind}`);
  return copy;
}

/**
 * A copy of a notification, with `to` as a list. The caller can change its own object during a call,
 * but not this copy.
 *
 * Throws for a `to` without a value, such as a missing variable: the user of the token would get
 * the notification. Throws for null in the other members that the server refuses as null.
 */
export function membersOf(notification) {
  mustBe('an object', {notification});
  const copy = copyOf('notification', notification), {to = null, alert} = copy;
  if (to === null && Object.hasOwn(copy, 'to')) throw new TypeError('to: give tag expressions, or leave it out for the user of the token');
  for (const name of ['app', 'platforms', 'sendAt', 'expiresIn', 'store', 'readOnce']) if (copy[name] === null) throw new TypeError(`${name}: leave it out in place of null`);
  if (to !== null) {
    copy.to = Array.isArray(to) ? [...to] : [to];
    mustBe('a list of texts', {to: copy.to});
  }
  if (isObject(alert)) copy.alert = copyOf('alert', alert);
  return copy;
}

/** The JSON of a notification in a request. */
export const textOf = notification => jsonOf(renamed(membersOf(notification), upper, (value, name) => (
  name === 'alert' && isObject(value) ? renamed(value, upper) : value
)));

/** Reads an object of an answer, and converts its times into dates. */
export const read = object => renamed(object, lower, (value, name) => {
  if (/(^|[a-z])At$|^Last/.test(name) && typeof value === 'string') return new Date(value);
  return name === 'Alert' && isObject(value) ? renamed(value, lower) : value;
});

/**
 * Refuses options that do not exist: a misspelt `key` would have no effect, and a repeated call
 * would send twice.
 */
export function refuse(others) {
  const names = Object.keys(others);
  if (names.length > 0) throw new TypeError(`there is no option ${names.join(', ')}`);
}

/**
 * Refuses options that are no numbers of this range. NaN would switch a limit off, and Node
 * replaces a timer's delay beyond the range by one millisecond.
 */
export function checkNumbers(options) {
  for (const [name, value] of Object.entries(options)) {
    if (!Number.isFinite(value) || value < 0 || value >= 2 ** 31) throw new TypeError(`${name}: ${String(value)} is no number from 0 to ${2 ** 31 - 1}`);
  }
}

/** Refuses other time limits than milliseconds above 0. A missing variable can become 0. */
export function checkLimits(limits) {
  checkNumbers(limits);
  for (const [name, value] of Object.entries(limits)) if (value === 0) throw new TypeError(`${name}: give more than 0 milliseconds`);
}

/** Refuses a wrong deadline or signal of a call. */
export function checkEnd({deadline, signal}) {
  checkLimits({deadline});
  if ((signal ?? null) !== null) mustBe('an AbortSignal', {signal});
}

/** Whether a header field can contain a value. */
export const isVisible = value => typeof value === 'string' && /^[!-~]+$/.test(value);

const KINDS = {
  'an AbortSignal': value => typeof value?.aborted === 'boolean' && typeof value.addEventListener === 'function',
  'a boolean': value => typeof value === 'boolean', 'a function': value => typeof value === 'function',
  // An `AbortSignal` or a `Date` in place of options has no members that could be refused.
  'an object': value => Object.prototype.toString.call(value) === '[object Object]',
  'a text': value => typeof value === 'string',
  'a list of texts': value => Array.isArray(value) && value.every(text => typeof text === 'string'),
};

/**
 * Refuses values of another kind: the text `false` would count as true, and options that are no
 * object would have no effect.
 */
export function mustBe(kind, values) {
  for (const [name, value] of Object.entries(values)) if (!KINDS[kind](value)) throw new TypeError(`${name}: ${String(value).slice(0, 40)} is not ${kind}`);
}

/** The options of a call, which may be left out. */
export function optionsOf(options = {}) {
  mustBe('an object', {options});
  return options;
}

/**
 * The tag expression of one user. Throws for a name with characters that could change the
 * expression.
 */
export function user(name) {
  const expression = `username:${name}`;
  if (name !== nameIn(expression)) throw new TypeError(`'${name}' is not the name of a user`);
  return expression;
}

/**
 * The name in the tag expression of one user; undefined for other expressions. The server ignores
 * the case of `username:`, and blanks and parentheses around it. It refuses unpaired parentheses.
 */
export const nameIn = expression => /^[ (]*username:([-A-Za-z0-9_@#+.]{1,100})[ )]*$/i.exec(expression)?.[1];

/**
 * Returns an idempotency key if a header field can contain it. The length leaves room for the
 * number of a batch.
 */
export function checkedKey(key) {
  if (typeof key !== 'string' || !/^[!#-[\]-~]{1,200}$/.test(key)) {
    throw new TypeError('key: give 1 to 200 visible ASCII characters without quotes and backslashes');
  }
  return key;
}

export {isObject};
