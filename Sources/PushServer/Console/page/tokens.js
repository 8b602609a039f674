// Tokens: the valid ones, making one, and revoking one.

import {ask, path} from './api.js';
import {ask as askFirst, reveal} from './act.js';
import {byUser} from './devices.js';
import {VERBATIM, badge, empty, field, h, table} from './dom.js';
import {list} from './lists.js';
import {ago, at} from './words.js';

export const title = 'Tokens';

const SCOPES = {
  fetch: 'Fetch notifications', send: 'Send notifications', register: 'Register devices', manage: 'Manage users and tokens (administrators only)',
  view: 'See users, devices and deliveries (viewers and administrators)', metrics: 'Read the metrics (viewers and administrators)',
};
const LIFETIMES = [[3600, 'An hour'], [86400, 'A day'], [7 * 86400, 'A week'], [30 * 86400, '30 days'], [90 * 86400, '90 days'], [365 * 86400, 'A year']];

export async function show(page) {
  const user = page.query.get('user') ?? '';
  const make = h('button.primary', {type: 'button', onclick: () => add(user, () => reload())}, 'Make a token');
  page.heading(title, make);
  const place = h('div', {}, h('p.loading', {}, 'Loading…'));
  page.content.replaceChildren(byUser('tokens', user), place);
  const {reload} = await list(place, {
    one: 'token', signal: page.signal,
    load: async cursor => {
      const answer = await ask('GET', path(['tokens'], {user, cursor}), {signal: page.signal});
      return {items: answer.Tokens, cursor: answer.Cursor, more: answer.More};
    },
    draw: (tokens, reload) => tokens.length
      ? table('Valid tokens', [['Token'], ['User'], ['Kind'], ['Scopes'], ['Made'], ['Last used'], ['Expires'], ['Action', {kind: 'action'}]],
        tokens.map(token => ({key: token.Prefix, cells: cells(token, reload)})))
      : empty('There are no tokens', 'Each session of an app has a token. Make tokens for backends here.'),
  });
}

function cells(token, reload) {
  return [
    h('span.mono', {}, `${token.Prefix}…`), h('a', {href: `#/users/${encodeURIComponent(token.User)}`}, token.User),
    token.Session ? 'Session' : 'Made', h('span.tags', {}, token.Scopes.map(scope => h(`span.tag${scope === 'manage' ? '.warn' : ''}`, {}, scope))),
    ago(token.CreatedAt), ago(token.LastUse, 'never'), ago(token.ExpiresAt),
    h('button.quiet.danger', {type: 'button', 'aria-label': `Revoke the token ${token.Prefix} of ${token.User}`, onclick: () => askFirst({
      title: 'Revoke this token?', submit: 'Revoke',
      text: `The server refuses the token ${token.Prefix}… of ${token.User} from the next request on.`,
      perform: async () => {
        await ask('DELETE', path(['tokens', token.Prefix]));
        await reload();
        return `The token ${token.Prefix}… is revoked.`;
      },
    })}, 'Revoke'),
  ];
}

function add(user, reload) {
  const name = h('input', {...VERBATIM, required: true, maxlength: 100, value: user});
  const scopes = Object.entries(SCOPES).map(([scope, meaning]) => [scope, h('label.check', {}, h('input', {type: 'checkbox', value: scope}), h('span', {}, h('strong', {}, scope), ` – ${meaning}`))]);
  const lifetime = h('select', {}, LIFETIMES.map(([seconds, text]) => h('option', {value: seconds, selected: seconds === 30 * 86400}, text)));
  askFirst({
    title: 'Make a token', submit: 'Make it', kind: 'primary',
    fields: [field('User', name), h('fieldset', {}, h('legend', {}, 'Scopes'), scopes.map(([, label]) => label), h('p.hint', {}, 'A scope is what the token may do. Without a scope, it may fetch, send and register.')), field('Lifetime', lifetime)],
    perform: async () => {
      const chosen = scopes.filter(([, label]) => label.querySelector('input').checked).map(([scope]) => scope);
      const made = await ask('POST', '/api/tokens', {body: {User: name.value.trim(), ExpiresIn: Number(lifetime.value), ...(chosen.length ? {Scopes: chosen} : {})}});
      // The new dialog opens after the first one is closed and has given the focus back.
      setTimeout(() => reveal({
        title: 'The new token', name: 'The token', secret: made.Token, told: `The token ${made.Prefix}… of ${name.value.trim()} is made.`,
        text: 'Copy it now: it is shown only once.',
        note: [badge(`for ${name.value.trim()}`), ' Scopes: ', made.Scopes.join(', ') || 'none', '. It expires ', at(made.ExpiresAt), '.'],
      }));
      await reload();
      return null;
    },
  });
}
