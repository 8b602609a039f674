// Notifications: the recent ones, and for one notification the outcome of each push. The page requests no payloads.

import {Problem, ask, canManage, path} from './api.js';
import {actionButton, ask as askFirst, form, whyButton} from './act.js';
import {badge, empty, field, h, table, update} from './dom.js';
import {ago, at, count, platformName, plural} from './words.js';

export const title = 'Notifications';

const RECENT = 50, PAGES = 6;
// The states of a push, in their order in time.
const STATES = [
  ['queued', 'Queued', 'warm'], ['sending', 'Sending', 'warm'], ['accepted', 'Accepted', 'tint'], ['fetched', 'Fetched', 'good'],
  ['read', 'Read', 'deep'], ['failed', 'Failed', 'bad'], ['expired', 'Expired', 'warn'], ['cancelled', 'Cancelled', 'plain'],
];
const TONES = {queued: 'warn', sending: 'warn', accepted: 'plain', fetched: 'good', read: 'good', failed: 'bad', expired: 'warn', cancelled: 'plain'};

export function show(page) {
  return page.parts[1] ? showOne(page, page.parts[1]) : showRecent(page);
}

// MARK: Recent ones

async function showRecent(page) {
  page.heading(title);
  const id = h('input', {type: 'text', inputmode: 'numeric', pattern: '[0-9]{1,19}', required: true, maxlength: 19, autocomplete: 'off', title: 'The number of a notification'});
  const place = h('div', {}, h('p.loading', {}, 'Loading…'));
  page.content.replaceChildren(
    h('div.find', {}, form({
      fields: field('Number of a notification', id, {hint: 'The push has it as secureId, and the answer to the post as Id.'}), submit: 'Look up',
      perform: () => { location.hash = `#/notifications/${id.value.trim()}`; },
    })),
    h('section', {'aria-labelledby': 'recent'}, h('h2', {id: 'recent'}, 'Recently sent'), place));
  const found = await recent(page.signal);
  place.replaceChildren(found.rows.length
    ? table('Notifications that were sent recently, the newest first', [['Notifications'], ['Sent by'], ['When'], ['Note']], found.rows)
    : empty('Nothing was sent lately', 'Each notification appears here with its number, its sender and the time.'),
  found.rows.length ? h('p.small.foot', {}, `From the ${plural(found.read, 'newest entry', 'newest entries')} of the audit. `, h('a', {href: '#/audit?show=notification'}, 'Look further back in the audit'), '.') : '');
}

/**
 * The newest entries of the audit about sending. The first page is small, as a batch's entry names
 * up to 500 notifications.
 */
async function recent(signal) {
  const rows = [], recalled = new Set();
  let cursor = null, read = 0;
  for (let pages = 0; pages < PAGES && rows.length < RECENT; pages += 1) {
    const answer = await ask('GET', path(['audit'], {cursor, limit: pages ? 500 : 2 * RECENT}), {signal});
    for (const entry of answer.Entries) {
      if (entry.Action === 'notification.recall') recalled.add(entry.Subject);
      if (entry.Action !== 'notification.send' || rows.length >= RECENT) continue;
      rows.push({key: String(entry.Number), cells: [links(entry.Subject), entry.Actor || 'the command line', ago(entry.At), note(entry, recalled)]});
    }
    read += answer.Entries.length;
    cursor = answer.Cursor;
    if (!answer.More) break;
  }
  return {rows, read};
}

/** Links to the notifications that an entry of the audit names; the entry of a batch names all of them. */
export function links(subject) {
  const ids = subject.split(' ');
  const link = id => h('a.mono', {href: `#/notifications/${id}`}, id);
  if (ids.length <= 3) return h('span.ids', {}, ids.map(link));
  return [h('span.ids', {}, ids.slice(0, 2).map(link)), h('details.inline', {}, h('summary', {}, `and ${count(ids.length - 2)} more of a batch`), h('span.ids', {}, ids.slice(2).map(link)))];
}

function note(entry, recalled) {
  const [word, time] = entry.Detail.split(' ');
  if (recalled.has(entry.Subject)) return badge('Recalled', 'warn');
  return word === 'at' && time ? ['to be sent at ', at(time)] : entry.Detail || '—';
}

// MARK: One

async function showOne(page, id) {
  page.heading(`Notification ${id}`);
  if (!/^[1-9][0-9]{0,18}$/.test(id)) {
    page.content.replaceChildren(empty('This is not the number of a notification', 'The number has digits only, and does not begin with 0.', h('a', {href: '#/notifications'}, 'All notifications')));
    return undefined;
  }
  let wanted = 100;
  const recall = h('button.danger', {type: 'button', hidden: true, onclick: () => askFirst({
    title: `Recall notification ${id}?`, submit: 'Recall',
    text: ['Nobody can fetch it from then on, and its waiting pushes are cancelled. This cannot be undone.', 'A phone that has fetched it already may still show it.'],
    perform: async () => {
      await recallFromAll(id);
      page.refresh();
      return `Notification ${id} is recalled.`;
    },
  })}, 'Recall');
  page.heading(`Notification ${id}`, whyButton(id, `notification ${id}`), ...canManage() ? [recall] : []);
  let counted = null;
  return page.every(5, () => load(id, wanted, page.signal).catch(problem => {
    if (problem.status !== 404) throw problem;
    return null;
  }), answer => {
    recall.hidden = !answer;
    if (answer?.Counted === 'all') counted = answer.Counts;
    update(page.content, answer ? draw(answer, counted ?? answer.Counts, !counted, {id, refresh: page.refresh, more: () => { wanted += 500; return page.refresh(); }}) : missing());
    // The server counts very many pushes in parts; a part is shown only until the first whole count.
    if (answer?.Counted === 'part') setTimeout(page.refresh);
  });
}

/**
 * Recalls a notification. If the administrator is a recipient, too, the first request dismisses it
 * for the administrator alone, and the second recalls it. Otherwise the first recalls it, and the
 * second finds nothing.
 */
async function recallFromAll(id) {
  await ask('DELETE', path(['notifications', id]));
  try {
    await ask('DELETE', path(['notifications', id]));
  } catch (problem) {
    if (!(problem instanceof Problem) || problem.status !== 404) throw problem;
  }
}

async function load(id, wanted, signal) {
  let answer = null;
  const pushes = [];
  do {
    answer = await ask('GET', path(['notifications', id, 'deliveries'], {cursor: answer?.Cursor, limit: Math.min(500, wanted - pushes.length), counts: 'part'}), {signal});
    pushes.push(...answer.Deliveries);
  } while (answer.More && pushes.length < wanted);
  return {...answer, Deliveries: pushes};
}

function missing() {
  return empty('There is no such notification', 'It was recalled, has expired, or never existed.', h('a', {href: '#/notifications'}, 'All notifications'));
}

function draw(answer, counts, isPart, {id, refresh, more}) {
  const all = STATES.reduce((sum, [state]) => sum + counts[state], 0);
  return [
    answer.SendAt ? h('p.sentence', {'data-key': 'scheduled'}, 'The notification is scheduled, and will be sent at ', at(answer.SendAt), '.') : null,
    h('section', {'data-key': 'counts', 'aria-labelledby': 'counts'}, h('h2', {id: 'counts'}, plural(all, 'push', 'pushes'), isPart ? ' so far, still counting' : null), all ? stack(counts, all) : null),
    h('section', {'data-key': 'pushes', 'aria-labelledby': 'pushes'}, h('h2', {id: 'pushes'}, 'Each device'),
      h('p.small', {}, 'Accepted: the provider has the push. Fetched: the user has fetched the payload. Expired: the provider did not accept the push in time.'),
      answer.Deliveries.length ? pushTable(answer.Deliveries, id, refresh)
        : empty('No pushes', answer.SendAt ? 'The server makes the pushes at that time.' : 'Its recipients have no device, or the server still looks the devices up. Recipients can fetch it all the same.'),
      answer.More ? h('div.row.foot', {}, h('p.small', {}, `${count(answer.Deliveries.length)} of ${count(all)} shown`), h('button', {type: 'button', onclick: more}, 'Show more')) : null),
  ];
}

/** The counts of pushes by state, as one bar and as a list. */
function stack(counts, all) {
  const present = STATES.filter(([state]) => counts[state] > 0);
  return h('div.stack', {},
    h('div.stack-bar', {'aria-hidden': 'true'}, present.map(([state, , tone]) => {
      const part = h(`span.part.${tone}`, {'data-key': state});
      part.style.flexGrow = String(counts[state] / all);
      return part;
    })),
    h('ul.legend', {}, present.map(([state, name, tone]) => h('li', {'data-key': state}, h(`span.swatch.${tone}`, {}), h('strong', {}, count(counts[state])), ` ${name.toLowerCase()}`))));
}

function pushTable(pushes, id, refresh) {
  // The column is left out if no row has a button, as for viewers.
  const canAct = canManage() && pushes.some(isWaiting);
  return table('The pushes of this notification, one for each device', [
    ['Device'], ['User'], ['Platform'], ['State'], ['Attempts', {kind: 'number'}], ['Reason'], ['When'], ...(canAct ? [['Action', {kind: 'action'}]] : []),
  ], pushes.map((push, index) => ({key: push.Device ?? `gone ${index}`, cells: [
    ...owner(push), badge(push.State, TONES[push.State]), count(push.Attempts), push.Reason ? h('span.mono.wrap', {}, push.Reason) : '—', ago(push.UpdatedAt),
    ...(canAct ? [isWaiting(push) ? actions(push, id, refresh) : ''] : []),
  ]})));
}

/** The cells with the device, the user and the platform of a push. */
export const owner = push => [
  push.Device ? h('span.mono', {title: push.Device}, `${push.Device.slice(0, 8)}…`) : 'gone',
  push.User ? h('a', {href: `#/users/${encodeURIComponent(push.User)}`}, push.User) : 'gone',
  [platformName(push.Platform), push.App === 'default' ? null : ` · ${push.App}`],
];

const isWaiting = push => push.State === 'queued' && push.Device;

/** The buttons of a waiting push: try it at once, or cancel it. */
function actions(push, id, refresh) {
  const place = path(['notifications', id, 'deliveries', push.Device]);
  // A user may have several devices.
  const which = `push to ${push.User ? `${push.User}, ` : ''}device ${push.Device.slice(0, 8)}`;
  const retry = actionButton('Try now', async () => {
    await ask('POST', place);
    refresh();
    return 'The push is due now. If its lane is paused, it waits until the lane resumes.';
  }, {kind: 'quiet', name: `Try now: ${which}`, key: `retry ${push.Device}`});
  const cancel = h('button.quiet.danger', {type: 'button', 'data-key': `cancel ${push.Device}`, 'aria-label': `Cancel: ${which}`, onclick: () => askFirst({
    title: 'Cancel this push?', submit: 'Cancel the push',
    text: ['The device is not woken. The notification stays, and can be fetched.', `Device ${push.Device}`],
    perform: async () => {
      await ask('DELETE', place);
      refresh();
      return 'The push is cancelled.';
    },
  })}, 'Cancel');
  return h('div.row', {}, retry, cancel);
}
