// The audit: who did what.

import {explain, tell} from './act.js';
import {ask, path} from './api.js';
import {empty, field, h, table} from './dom.js';
import {list} from './lists.js';
import {links} from './notifications.js';
import {at} from './words.js';

export const title = 'Audit';

const KINDS = [['', 'Everything'], ['notification', 'Notifications'], ['user', 'Users'], ['device', 'Devices'], ['token', 'Tokens'], ['session', 'Sign-ins'], ['keys', 'Keys'], ['database', 'Backups']];
const WORDS = {
  'session.begin': 'signed in', 'user.add': 'added the user', 'user.change': 'changed the user', 'user.delete': 'deleted the user', 'user.export': 'exported the data of', 'user.tags': 'set the tags of', 'user.enrol': 'made a one-time code for',
  'token.add': 'made a token for', 'token.revoke': 'revoked the token', 'device.register': 'registered the device', 'device.claim': 'claimed the handle of the device',
  'device.move': 'took over the device', 'device.unregister': 'unregistered the device', 'device.test': 'tested the device', 'notification.send': 'sent',
  'notification.take': 'fetched the read-once', 'notification.confirm': 'confirmed the fetch of', 'notification.dismiss': 'dismissed', 'notification.recall': 'recalled', 'notification.cancel': 'cancelled a push of', 'notification.retry': 'retried a push of', 'keys.change': 'changed the keys', 'keys.rotate': 'made the data key', 'keys.remove': 'removed the data key', 'database.backup': 'backed up to', 'clock.accept': 'accepted the clock,',
};

export async function show(page) {
  page.heading(title);
  let wait = 0, search = () => {};
  const kind = h('select', {onchange: () => search()}, KINDS.map(([value, text]) => h('option', {value, selected: value === page.query.get('show')}, text)));
  const text = h('input', {type: 'search', maxlength: 200, autocomplete: 'off', spellcheck: 'false', oninput: () => {
    clearTimeout(wait);
    wait = setTimeout(() => search(), 300);
  }});
  const place = h('div', {}, h('p.loading', {}, 'Loading…'));
  page.content.replaceChildren(
    h('div.find', {role: 'search', 'aria-label': 'The audit'}, h('div.pair', {}, field('Show', kind), field('With the words', text, {hint: 'Parts of a name, a number, an address or a request’s id.'}))), place);
  const {reload} = await list(place, {
    one: 'entry', many: 'entries', signal: page.signal,
    load: async cursor => {
      const answer = await ask('GET', path(['audit'], {cursor, limit: 200, action: kind.value, words: text.value.trim()}), {signal: page.signal});
      return {items: answer.Entries, cursor: answer.Cursor, more: answer.More, searched: answer.Searched};
    },
    draw: (entries, _, searched) => entries.length === 0
      ? empty(searched === undefined ? 'There are no entries yet' : 'No entry fits', 'Each action appears here with its user, the newest first.')
      : table('Who did what, the newest first', [['When'], ['Who'], ['What'], ['Details'], ['From'], ['Request']],
        entries.map(entry => ({key: String(entry.Number), cells: cells(entry)}))),
  });
  search = () => reload().catch(problem => page.signal.aborted || tell(explain(problem).join(' '), true));
}

function cells(entry) {
  return [
    at(entry.At), [entry.Actor || 'the command line', entry.Token ? h('span.small.below.mono', {title: 'The token of the request'}, entry.Token) : null],
    h('span', {title: entry.Action}, WORDS[entry.Action] ?? entry.Action, ' ', subject(entry)),
    entry.Detail ? h('span.small.wrap', {}, entry.Detail) : '—', entry.Client === 'unknown' ? '—' : h('span.mono', {}, entry.Client),
    entry.Request ? h('span.mono', {}, entry.Request) : '—',
  ];
}

function subject({Action, Subject, Actor}) {
  if (Action.startsWith('notification.')) return links(Subject);
  if (Action === 'user.delete') return h('span.strong', {}, Subject);
  if (Action.startsWith('user.') || Action === 'token.add') return h('a', {href: `#/users/${encodeURIComponent(Subject)}`}, Subject);
  if (Action === 'session.begin' || Subject === Actor) return null;
  return Action.startsWith('device.') ? h('span.mono', {title: Subject}, `${Subject.slice(0, 8)}…`) : h('span.mono', {}, Subject);
}
