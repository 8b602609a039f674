// The state of the server: troubles, the last hour, lanes, servers, credentials.

import {ask, canManage, path} from './api.js';
import {actionButton} from './act.js';
import {badge, empty, h, table, update} from './dom.js';
import {byMinute, plotCard} from './plot.js';
import {ago, at, count, minuteTime, onDay, plural, relative, span} from './words.js';

export const title = 'Overview';

const CAUSES = {
  outage: ['does not answer', 'The provider did not answer ten calls in a row. The server retries by itself. If other lanes fail, too, check the server’s network.'],
  overloaded: ['asks for a pause', 'The provider has asked this server to send nothing for a while. If that happens often, lower the sender’s rate.'],
  throttled: ['asks for fewer pushes', 'The provider reports too many pushes to the devices of several users. If that happens often, lower the sender’s rate.'],
  misconfigured: ['refuses the credentials', 'The provider refuses the credentials or the configuration of this sender. Correct what the reason names, then reload the server or try again.'],
  devices_refused: ['knows none of the devices', 'The provider did not know the devices of five users in a row. Compare the sender’s app, environment and project with those of the app.'],
};
// Pauses with these causes do not end by themselves: a person must act.
const NEEDS_HELP = new Set(['misconfigured', 'devices_refused']);
const LATE = 60, VERY_LATE = 600, DAY = 86_400_000, QUIET_FROM = 12;

export async function show(page) {
  page.heading(title);
  page.every(5, () => ask('GET', '/api/status', {signal: page.signal}), status => render(page, status));
}

function render(page, status) {
  const now = new Date(status.Now).getTime();
  update(page.content,
    health(troublesOf(status, now)),
    plots(status.History),
    lanes(page, status, now),
    nodes(status.Nodes),
    h('div.two', {'data-key': 'rest'}, credentials(status.Credentials, now), facts(status, now)));
}

// MARK: Troubles

function troublesOf(status, now) {
  const found = status.Troubles.map(text => ['bad', `${text[0].toUpperCase()}${text.slice(1)}.`.replace(/\.\.$/, '.'), '']);
  for (const lane of status.Lanes) {
    if (isStranded(lane)) {
      found.push(['bad', `The lane ${lane.Name} has no sender.`, `${plural(lane.Pending, 'push waits', 'pushes wait')} in it. Configure the sender again, or they expire.`]);
    } else if (lane.Pause) {
      const [what] = CAUSES[lane.Pause.Cause] ?? ['accepts no pushes'];
      found.push([NEEDS_HELP.has(lane.Pause.Cause) ? 'bad' : 'warn',
        `The lane ${lane.Name} is paused: its provider ${what}.`, `${plural(lane.Pending, 'push waits', 'pushes wait')} in it.`]);
    } else if (lane.OverdueSeconds > LATE) {
      found.push([lane.OverdueSeconds > VERY_LATE ? 'bad' : 'warn',
        `The lane ${lane.Name} is behind: its oldest push is ${span(lane.OverdueSeconds)} late.`, `${plural(lane.Pending, 'push waits', 'pushes wait')}.`]);
    }
  }
  for (const one of status.Credentials) {
    const left = (new Date(one.ExpiresAt) - now) / DAY;
    if (left <= 0) found.push(['bad', `${one.Name} has expired.`, 'Replace it, and reload the server.']);
    else if (urgency(one, left)) found.push([urgency(one, left), `${one.Name} expires in ${left < 2 ? span(left * 86400) : plural(Math.floor(left), 'day')}.`, 'Replace it before then, and reload the server.']);
  }
  return found.sort((one, other) => (one[0] === 'bad' ? 0 : 1) - (other[0] === 'bad' ? 0 : 1));
}

function health(troubles) {
  if (troubles.length === 0) {
    return h('section.health.good', {'data-key': 'health', 'aria-labelledby': 'health'}, h('span.dot.good', {}),
      h('div', {}, h('h2', {id: 'health'}, 'All is well'), h('p', {}, 'No lane is paused, no push is late, and no credential expires soon.')));
  }
  const bad = troubles.filter(([level]) => level === 'bad').length;
  const heading = bad ? `${plural(bad, 'thing needs', 'things need')} you` : `${plural(troubles.length, 'thing')} to watch`;
  return h(`section.health.${bad ? 'bad' : 'warn'}`, {'data-key': 'health', 'aria-labelledby': 'health'}, h(`span.dot.${bad ? 'bad' : 'warn'}`, {}),
    h('div', {},
      h('h2', {id: 'health'}, heading),
      h('ul.troubles', {}, troubles.map(([level, text, detail]) =>
        h('li', {}, badge(level === 'bad' ? 'Act' : 'Watch', level), h('div', {}, h('p.strong', {}, text), detail ? h('p.small', {}, detail) : null))))));
}

// MARK: The last hour

function plots(history) {
  const end = new Date(history.End).getTime();
  const course = (name, isLevel = false) => byMinute(history[name], history.Seconds, isLevel);
  const posted = course('Posted'), accepted = course('Accepted'), failed = course('Failed'), fetched = course('Fetched'), pending = course('Pending', true);
  const started = posted.findIndex(value => value !== null);
  const cards = [
    plotCard({title: 'Posted', end, note: 'notifications', series: [{name: 'posted', values: posted, tone: 'tint'}]}),
    plotCard({title: 'Accepted', end, note: 'pushes', series: [{name: 'accepted', values: accepted, tone: 'tint'}, {name: 'failed', values: failed, tone: 'bad'}]}),
    plotCard({title: 'Fetched', end, note: 'payloads', series: [{name: 'fetched', values: fetched, tone: 'tint'}]}),
    plotCard({title: 'Waiting', end, note: 'pushes now', isLevel: true, series: [{name: 'waiting', values: pending, tone: 'warm'}]}),
  ];
  return h('section', {'data-key': 'hour', 'aria-labelledby': 'hour'},
    h('div.section-head', {}, h('h2', {id: 'hour'}, 'The last hour'),
      h('p.small', {}, 'A push is the message that wakes one device. It is accepted once its provider has it. Payloads are fetched from this server.'),
      started > 0 ? h('p.small', {}, `This server started ${plural(posted.length - started, 'minute')} ago; before that there are no figures.`) : null),
    h('div.cards', {}, cards),
    h('details', {'data-key': 'figures'}, h('summary', {}, 'These figures as a table'), figures(end, {posted, accepted, failed, fetched, pending})));
}

/** The last hour as a table: six rows of ten minutes. */
function figures(end, {posted, accepted, failed, fetched, pending}) {
  const rows = [];
  for (let from = Math.max(0, posted.length - 60); from < posted.length; from += 10) {
    const sum = values => {
      const known = values.slice(from, from + 10).filter(value => value !== null);
      return known.length ? count(known.reduce((one, other) => one + other, 0)) : '—';
    };
    const time = index => minuteTime(new Date(end - (posted.length - index) * 60_000));
    const last = pending.slice(from, from + 10).findLast(value => value !== null);
    rows.push({key: `from ${from}`, cells: [`${time(from)}–${time(Math.min(posted.length, from + 10))}`,
      sum(posted), sum(accepted), sum(failed), sum(fetched), last === undefined ? '—' : count(last)]});
  }
  const numeric = {kind: 'number'};
  return table('Figures of the last hour, in steps of ten minutes', [
    ['Time'], ['Posted', numeric], ['Accepted', numeric], ['Failed', numeric], ['Fetched', numeric], ['Waiting at the end', numeric],
  ], rows);
}

// MARK: Lanes

/** Whether pushes wait in the lane, and nobody sends them. */
const isStranded = lane => !lane.HasSender && lane.Pending > 0;
const rank = lane => isStranded(lane) ? 0 : lane.Pause ? (NEEDS_HELP.has(lane.Pause.Cause) ? 0 : 1) : lane.OverdueSeconds > LATE ? 2 : 3;

function lanes(page, status, now) {
  const sorted = [...status.Lanes].sort((one, other) => rank(one) - rank(other) || other.Pending - one.Pending || one.Name.localeCompare(other.Name));
  const heading = h('div.section-head', {}, h('h2', {id: 'lanes'}, 'Lanes'), h('p.small', {}, 'A lane is the queue of pushes to one provider under one set of credentials. It is paused as a whole.'));
  if (sorted.length === 0) {
    return h('section', {'data-key': 'lanes', 'aria-labelledby': 'lanes'}, heading,
      empty('No sender is configured', 'The server sends no pushes, so phones are not woken. Users can still fetch their notifications.'));
  }
  const needsSpace = sorted.length > QUIET_FROM;
  const isQuiet = lane => needsSpace && rank(lane) === 3 && lane.Pending === 0;
  const loud = sorted.filter(lane => !isQuiet(lane)), quiet = sorted.filter(isQuiet);
  return h('section', {'data-key': 'lanes', 'aria-labelledby': 'lanes'}, heading,
    loud.length ? laneTable('Lanes, those with problems first', loud, page, now) : null,
    quiet.length ? h('details', {'data-key': 'quiet'}, h('summary', {}, `${plural(quiet.length, 'lane')} with nothing waiting`), laneTable('Lanes with nothing waiting', quiet, page, now)) : null);
}

function laneTable(caption, lanes, page, now) {
  const numeric = {kind: 'number'};
  return table(caption, [
    ['Lane'], ['State'], ['Waiting', numeric], ['Oldest is overdue by', numeric], ['Oldest posted', numeric], ['Accepted', numeric], ['Failed', numeric], ['Expired', numeric], ['Cancelled', numeric],
  ], lanes.flatMap(lane => laneRows(lane, page, now)));
}

function laneRows(lane, page, now) {
  const late = lane.OverdueSeconds;
  const lateness = late < 1 ? '—' : late > VERY_LATE ? badge(span(late), 'bad') : late > LATE ? badge(span(late), 'warn') : span(late);
  const tone = !lane.HasSender ? isStranded(lane) ? 'bad' : 'plain' : lane.Pause ? (NEEDS_HELP.has(lane.Pause.Cause) ? 'bad' : 'warn') : late > LATE ? 'warn' : 'good';
  const row = {key: lane.Name, cells: [
    h('span.mono', {}, lane.Name), badge(!lane.HasSender ? 'No sender' : lane.Pause ? 'Paused' : late > LATE ? 'Behind' : 'Running', tone), count(lane.Pending), lateness, lane.OldestSeconds < 1 ? '—' : `${span(lane.OldestSeconds)} ago`,
    count(lane.Accepted), lane.Failed ? h('a.strong', {href: '#/failures'}, count(lane.Failed)) : '0', count(lane.Expired), count(lane.Cancelled),
  ]};
  return lane.Pause ? [row, pauseRow(lane, page, now)] : [row];
}

function pauseRow(lane, page, now) {
  const {Cause, Reason, Until} = lane.Pause;
  const [, advice] = CAUSES[Cause] ?? ['', 'The server has paused this lane.'];
  const until = Until ? new Date(Until).getTime() : 0;
  const again = until > now ? ['The server tries again at ', at(Until), `, ${relative(until, now)}.`] : ['The server tries again with the next push.'];
  const retry = canManage() && actionButton('Try again now', async () => {
    await ask('POST', path(['lanes', 'retry']), {body: {Lane: lane.Name}});
    page.refresh();
    return `The lane ${lane.Name} tries again now.`;
  }, {name: `Try the lane ${lane.Name} again now`, key: `retry ${lane.Name}`});
  return h(`tr.pause.${NEEDS_HELP.has(Cause) ? 'bad' : 'warn'}`, {role: 'row', 'data-key': `${lane.Name} pause`},
    h('td', {role: 'cell', colspan: 9}, h('div.pause-body', {},
      h('div', {}, h('p', {}, advice), Reason ? h('p.small', {}, 'Reason: ', h('q.mono', {}, Reason)) : null, h('p.small', {}, again)), retry)));
}

// MARK: Servers

const STATES = {alive: ['Running', 'good'], late: ['Silent', 'bad'], gone: ['Gone', 'plain']};

/** The servers that share the database; null if there is one server only. */
function nodes(list) {
  if (list.length === 0) return null;
  const gone = list.filter(node => node.State === 'gone'), others = list.filter(node => node.State !== 'gone');
  return h('section', {'data-key': 'nodes', 'aria-labelledby': 'nodes'},
    h('div.section-head', {}, h('h2', {id: 'nodes'}, 'Servers'), h('p.small', {}, 'They share the database. Each reports twice a second that it is alive.')),
    nodeTable('Servers that are running', others),
    gone.length ? h('details', {'data-key': 'gone'}, h('summary', {}, `${plural(gone.length, 'server')} gone within a day`), nodeTable('Servers that are gone', gone)) : null);
}

function nodeTable(caption, list) {
  return table(caption, [['Server'], ['State'], ['Version'], ['Since'], ['Last sign of life']], list.map(node => {
    const [word, tone] = STATES[node.State] ?? [node.State, 'plain'];
    return {key: `${node.Name} ${node.StartedAt}`, cells: [
      [h('span.mono', {}, node.Name), node.IsThis ? ' · this one' : null], badge(word, tone), node.Version, at(node.StartedAt), ago(node.HeardAt),
    ]};
  }));
}

// MARK: Credentials and facts

// A certificate gets a warning 30 days before its end, and an alarm 3 days before. With a short
// lifetime it gets them when a quarter and a tenth of the lifetime are left.
function urgency({Lifetime}, left) {
  const life = Lifetime === null ? Infinity : Lifetime / 86400;
  return left < Math.min(3, life / 10) ? 'bad' : left < Math.min(30, life / 4) ? 'warn' : null;
}

function credentials(list, now) {
  const rows = [...list].sort((one, other) => new Date(one.ExpiresAt) - new Date(other.ExpiresAt)).map(one => {
    const left = (new Date(one.ExpiresAt) - now) / DAY;
    const words = left <= 0 ? 'expired' : left < 2 ? span(left * 86400) : plural(Math.floor(left), 'day');
    return {key: one.Name, cells: [h('span.mono', {}, one.Name), onDay(one.ExpiresAt), urgency(one, left) ? badge(words, urgency(one, left)) : words]};
  });
  return h('section', {'aria-labelledby': 'credentials'},
    h('div.section-head', {}, h('h2', {id: 'credentials'}, 'Credentials that expire')),
    rows.length ? table('Credentials and their expiry', [['Credential'], ['Expires on'], ['Time left', {kind: 'number'}]], rows)
      : empty('None', 'The configuration has no credential whose expiry the server knows.'));
}

function facts(status, now) {
  const {Count, FirstDue} = status.Scheduled;
  const uptime = (now - new Date(status.StartedAt)) / 1000;
  const fact = (name, ...value) => h('div', {}, h('dt', {}, name), h('dd', {}, value));
  return h('section', {'aria-labelledby': 'server'},
    h('div.section-head', {}, h('h2', {id: 'server'}, status.Servers > 1 ? 'These servers' : 'This server')),
    h('dl.facts', {},
      fact('Scheduled', Count ? [plural(Count, 'notification'), FirstDue ? [', the first at ', at(FirstDue)] : null] : 'Nothing'),
      fact('Servers', count(status.Servers)),
      fact('Version', status.Version),
      fact('Running for', span(uptime), h('span.small', {}, [', since ', at(status.StartedAt)]))));
}
