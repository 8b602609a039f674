// One request, and the checks of its answer. docs/evidence/vectors has the order of the checks.

import {randomInt} from 'node:crypto';

import {AbortError, InterferenceError, ProblemError, SealpostError, UnreachableError} from './errors.js';
import {acceptSignature, importKey, signatureFailure} from './signature.js';
import {checkLimits, checkNumbers, isVisible, mustBe, refuse} from './wire.js';

// The error of `fetch` about such a token would print it.
const WRONG_TOKEN = 'the token is empty, or has a line break, a space or a character that is not ASCII';

/** The greatest `MyToken`: its echo fits a signed 32-bit integer. */
const GREATEST_TOKEN = 126_322_567;
/** The codes of failures before any byte of the request was sent. */
const BEFORE_SENDING = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'UND_ERR_CONNECT_TIMEOUT']);

/** The server's echo of a `MyToken`; null for an invalid `MyToken`. */
export const echoOf = token => /^[0-9]+$/.test(token) && Number(token) <= GREATEST_TOKEN ? String(Number(token) * 17 + 3) : null;

/** Sends requests, each with a `MyToken` of its own, and returns only the server's own answers. */
export class Exchange {
  constructor({
    server, token, signingKeys, account = null, isInsecureAllowed = false, timeout = 10_000, signatureTolerance = 300, answerLimit = 16 << 20,
    fetch = globalThis.fetch, now = Date.now, makeToken = () => String(randomInt(GREATEST_TOKEN + 1)), ...others
  }) {
    // Without this check, answers would be accepted unsigned if the name `signingKeys` is misspelt.
    refuse(others);
    checkLimits({timeout});
    checkNumbers({signatureTolerance, answerLimit});
    mustBe('a boolean', {isInsecureAllowed});
    if (account !== null && !isVisible(account)) throw new TypeError("account: give the account's identifier, or leave it out");
    if (!URL.canParse(server)) throw new TypeError("server: give the server's URL, such as https://push.example.com");
    const base = new URL(server), isLocal = /^(localhost|\[::1\]|127(\.[0-9]{1,3}){3})$/.test(base.hostname);
    if (!/^https?:$/.test(base.protocol)) throw new TypeError("server: the server's URL begins with https:// or http://");
    if (base.username || base.password || base.search || base.hash) {
      throw new TypeError("server: the server's URL has no user, no query and no fragment, such as https://push.example.com");
    }
    if (base.protocol === 'http:' && !isLocal && !isInsecureAllowed) {
      throw new TypeError('server: http sends the token in clear; use https, or set isInsecureAllowed in a network of your own');
    }
    if (signingKeys !== undefined && !(Array.isArray(signingKeys) && signingKeys.length > 0)) {
      throw new TypeError('signingKeys: give a list of the keys that sign answers, or leave it out');
    }
    if (typeof token !== 'function' && !isVisible(token)) throw new TypeError(`token: ${WRONG_TOKEN}`);
    // If the server's URL has a path, a proxy removes that path, so the server does not sign it.
    this.base = base.origin + base.pathname.replace(/\/+$/, '');
    this.keys = (signingKeys ?? []).map(importKey);
    Object.assign(this, {token, account, timeout, signatureTolerance, answerLimit, fetch, now, makeToken});
  }

  /**
   * The server's answer to one request: `status`, `json` (undefined without a body) and
   * `field(name)`.
   *
   * Throws a `ProblemError`, an `UnreachableError` or an `InterferenceError`; if the signal is
   * aborted, an `AbortError`; if the function for tokens returns no token, a `SealpostError`.
   */
  async ask({method, path, query = null, body, key}, {timeout, signal}) {
    const request = {method, path, query, token: this.makeToken()};
    const headers = {MyToken: request.token, Prefer: 'handling=strict', Accept: 'application/json'};
    if (body !== undefined) headers['Content-Type'] = 'application/json';
    if (key !== undefined) headers['Idempotency-Key'] = `"${key}"`;
    if (this.keys.length > 0) headers['Accept-Signature'] = acceptSignature(this.keys[0]);
    if (signal?.aborted) throw new AbortError(signal);
    const limit = new AbortController(), end = () => limit.abort(), left = Math.min(timeout, this.timeout), due = performance.now() + left;
    const timer = setTimeout(end, left);
    signal?.addEventListener('abort', end);
    try {
      headers.Authorization = `Bearer ${await this.#credential(limit.signal, due)}`;
      const response = await this.fetch(`${this.base}${path}${query === null ? '' : `?${query}`}`, {
        method, headers, body, redirect: 'manual', signal: limit.signal,
      });
      const answer = {status: response.status, field: name => response.headers.get(name)?.trim() ?? null};
      try {
        this.#checkHead(request, answer);
        answer.body = await this.#receive(request, response);
      } finally {
        response.body?.cancel().catch(() => {});
      }
      return this.#check(request, answer);
    } catch (error) {
      if (signal?.aborted) throw new AbortError(signal);
      if (error instanceof SealpostError) throw error;
      const cause = error.cause ?? error, wasSent = !BEFORE_SENDING.has(cause.code);
      throw new UnreachableError(limit.signal.aborted ? 'the server has not answered in time' : `the connection failed: ${cause.code ?? cause.message}`, {wasSent, cause});
    } finally {
      clearTimeout(timer);
      signal?.removeEventListener('abort', end);
    }
  }

  /** The token. A function that ignores the signal does not delay the end of the attempt. */
  async #credential(signal, due) {
    let token = this.token;
    try {
      if (typeof token === 'function') {
        const ended = new Promise(done => { signal.addEventListener('abort', done); });
        token = await Promise.race([ended, token(signal)]);
        // The timer of the signal cannot fire while the function blocks the process.
        if (signal.aborted || performance.now() > due) throw new Error('it has not returned in time');
      }
    } catch (cause) {
      throw new UnreachableError(`the function token has failed: ${cause?.message}`, {wasSent: false, cause});
    }
    // Such a token is a fault of the function, so a retry would only repeat it.
    if (!isVisible(token)) throw new SealpostError(`the function token: ${typeof token === 'string' ? WRONG_TOKEN : `it has returned no text, but ${typeof token}`}`);
    return token;
  }

  /**
   * The checks that need no body. They run first, so that the body of an answer that is not the
   * server's is not read.
   */
  #checkHead(request, answer) {
    const {status} = answer, echo = answer.field('mytoken'), where = {status, path: request.path, retryAfter: secondsOf(answer)};
    if (status >= 300 && status <= 399 && status !== 304) throw new InterferenceError('redirect', 'an answer', where);
    if (!echo) {
      // A load balancer without a working server sends such an answer.
      if ([408, 421, 429].includes(status) || (status >= 500 && status !== 511)) {
        throw new UnreachableError(`a load balancer or proxy has answered ${status}`, {status, retryAfter: secondsOf(answer)});
      }
      throw new InterferenceError('missingEcho', 'the echo of MyToken', where);
    }
    if (echo !== echoOf(request.token)) throw new InterferenceError('wrongEcho', 'the echo of MyToken', where);
    // No request of this library is conditional.
    if (status === 304) throw new InterferenceError('unexpectedNotModified', 'an answer without a condition', where);
  }

  async #receive({path}, response) {
    const pieces = [];
    let count = 0;
    for await (const piece of response.body ?? []) {
      count += piece.length;
      if (count > this.answerLimit) throw new InterferenceError('oversized', `at most ${this.answerLimit} bytes`, {status: response.status, path});
      pieces.push(piece);
    }
    return Buffer.concat(pieces);
  }

  #check(request, answer) {
    const {status, body} = answer, where = {status, path: request.path, retryAfter: secondsOf(answer)};
    if (this.keys.length > 0) {
      const failure = signatureFailure(request, answer, {keys: this.keys, tolerance: this.signatureTolerance, now: this.now() / 1000});
      if (failure) throw new InterferenceError(failure, 'a signature by a pinned key over this answer to this request', where);
    }
    const account = answer.field('sealpost-account');
    if (account === 'none') {
      // `none` is right if the request's credentials were refused. All other answers name an
      // account.
      if (status < 400 || [403, 404, 409, 410, 412].includes(status)) throw new InterferenceError('wrongAccount', 'an account', where);
    } else if (account !== null) {
      this.account ??= account;
      if (account !== this.account) throw new InterferenceError('wrongAccount', this.account, where);
    }
    let json;
    try {
      // Without these options the decoder would drop a byte order mark, and replace wrong bytes.
      if (body.length > 0) json = JSON.parse(new TextDecoder('utf-8', {fatal: true, ignoreBOM: true}).decode(body));
    } catch {
      throw new InterferenceError('notJSON', 'JSON', where);
    }
    if (status >= 200 && status <= 299) return {...answer, json, ...where};
    const problem = ProblemError.from(json, secondsOf(answer));
    if (problem?.status !== status) throw new InterferenceError('unexpectedBody', `a problem of status ${status}`, where);
    throw problem;
  }
}

/**
 * The seconds to wait of `Retry-After`, which are a number or the time until a date; null if the
 * field is missing or has another form.
 */
function secondsOf(answer) {
  const field = answer.field('retry-after') ?? '';
  if (/^[0-9]{1,9}$/.test(field)) return Number(field);
  const left = / GMT$/.test(field) ? Math.ceil((Date.parse(field) - Date.now()) / 1000) : NaN;
  return left > 0 ? left : null;
}
