// Messages that the server posts to webhooks, signed as https://www.standardwebhooks.com
// describes.

import {createHmac, timingSafeEqual} from 'node:crypto';

import {InvalidMessageError} from './errors.js';
import {checkNumbers, isObject, optionsOf, read, refuse} from './wire.js';

/**
 * The keys in a `secretFile`, one in each line: `whsec_` and a key in base64, or any other text,
 * whose bytes are the key.
 */
function keysOf(secrets) {
  const texts = [secrets].flat();
  if (!texts.every(text => typeof text === 'string')) throw new TypeError('secrets: give the text of secretFile, or a list of its lines');
  const lines = texts.flatMap(text => text.replace(/^\ufeff/, '').split(/[\r\n]/)).map(line => line.replace(/^[ \t]+|[ \t]+$/g, '')).filter(line => line !== '');
  if (!lines.every(line => /^[ -~]+$/.test(line))) throw new TypeError('secrets: a line may only have ASCII characters and blanks');
  // Node ignores characters that are not base64: with another key, each message would be refused.
  if (!lines.every(line => /^(?!whsec_)|^whsec_([-\w+/]{4})*([-\w+/]{2,3})?=*$/.test(line))) throw new TypeError('secrets: the text after whsec_ is not base64');
  const keys = lines.map(line => line.startsWith('whsec_') ? Buffer.from(line.slice(6), 'base64') : Buffer.from(line));
  if (keys.length === 0 || keys.some(key => key.length < 24)) throw new TypeError('secrets: give the lines of secretFile, of at least 24 bytes each');
  return keys;
}

/** Verifies the messages that the server posts. */
export class Webhook {
  /**
   * The maximum number of bytes of a message. A longer body does not come from Sealpost: do not
   * read it.
   */
  static maximumBody = 1 << 20;
  #keys;
  #tolerance;

  /**
   * `secrets` is the text of `secretFile`, or a list of its lines. While one secret replaces
   * another, there are two lines, and either secret may have signed. `tolerance` is the largest
   * accepted age of a message in seconds.
   */
  constructor(secrets, options) {
    const {tolerance = 300, ...others} = optionsOf(options);
    refuse(others);
    checkNumbers({tolerance});
    this.#keys = keysOf(secrets);
    this.#tolerance = tolerance;
  }

  /**
   * Verifies a message, and returns it. Throws an `InvalidMessageError` if no secret has signed it,
   * if its time differs from `now` by more than the tolerance, or if it is not JSON. Within that
   * time an attacker can repeat a message, so skip messages whose `id` you have already handled.
   *
   * - `headers`: the request's headers, as Node's object or as `Headers`.
   * - `body`: the received bytes, or their text, before any parser.
   */
  verify(headers, body, now = Date.now() / 1000) {
    const field = name => String((typeof headers.get === 'function' ? headers.get(name) : headers[name]) ?? '');
    const [id, timestamp] = ['webhook-id', 'webhook-timestamp'].map(field);
    const given = field('webhook-signature').split(' ').map(text => Buffer.from(text));
    const due = this.#keys.map(key => Buffer.from(`v1,${createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest('base64')}`));
    // All signatures are compared with all keys, so that the time reveals nothing.
    const matches = due.flatMap(one => given.filter(other => other.length === one.length && timingSafeEqual(one, other)));
    if (id === '' || matches.length === 0) throw new InvalidMessageError('no secret has signed the message; compare it with secretFile');
    if (!/^[0-9]{1,15}$/.test(timestamp) || !(Math.abs(now - Number(timestamp)) <= this.#tolerance)) {
      throw new InvalidMessageError("the message is too old, or this machine's clock is wrong");
    }
    let json;
    try {
      json = JSON.parse(typeof body === 'string' ? body : Buffer.from(body).toString());
    } catch (cause) {
      throw new InvalidMessageError(`the message is malformed: ${cause.message}`, {cause});
    }
    return {id, sentAt: new Date(Number(timestamp) * 1000), ...contentOf(json)};
  }

  /**
   * A listener for `node:http` that gives each verified message to `handle` once.
   *
   * It answers 204 after `handle` has finished, 401 to messages that are not the server's, and 500
   * if `handle` has failed: the server then repeats the message. The ids of handled messages are
   * cached in memory, so after a restart `handle` may get a message again.
   */
  listener(handle, options) {
    const {cachedIDs = 10_000, ...others} = optionsOf(options);
    refuse(others);
    checkNumbers({cachedIDs});
    const handled = new Map();
    const once = message => {
      const {id} = message;
      if (!handled.has(id)) {
        handled.set(id, Promise.resolve(message).then(handle));
        handled.get(id).catch(() => handled.delete(id));
        if (handled.size > cachedIDs) handled.delete(handled.keys().next().value);
      }
      return handled.get(id);
    };
    return async (request, response) => {
      const answer = status => response.writeHead(status, status === 413 ? {Connection: 'close'} : {}).end();
      try {
        if (request.method !== 'POST') return answer(405);
        const pieces = [];
        let count = 0;
        for await (const piece of request) {
          count += piece.length;
          if (count > Webhook.maximumBody) return answer(413);
          pieces.push(piece);
        }
        await once(this.verify(request.headers, Buffer.concat(pieces)));
        answer(204);
      } catch (error) {
        answer(error instanceof InvalidMessageError ? 401 : 500);
      }
    };
  }
}

/**
 * The content of a message, whose `type` is `events`, `confirmation`, `push`, or `other` for a
 * kind of message that only later servers send.
 */
function contentOf(json) {
  const {type, data, confirmation: code, secureId, handle, alert = null, accountHint = null} = json ?? {};
  if (type === 'sealpost.events' && Array.isArray(data?.Events) && data.Events.every(isObject)) return {type: 'events', events: data.Events.map(read)};
  const isConfirmation = typeof code === 'string', isPush = typeof secureId === 'string' && /^[0-9]{1,16}$/.test(secureId);
  if (!isConfirmation && !isPush) return {type: 'other', json};
  if (typeof handle !== 'string') throw new InvalidMessageError('the message is malformed: it has no handle');
  return isConfirmation ? {type: 'confirmation', code, handle} : {type: 'push', secureId, handle, alert, accountHint};
}
