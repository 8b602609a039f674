// Devices: the registrations, and ending one.

import {ask, canManage, path} from './api.js';
import {actionButton, ask as askFirst, form, tell, whyButton} from './act.js';
import {VERBATIM, badge, empty, field, h, table} from './dom.js';
import {list} from './lists.js';
import {ago, platformName} from './words.js';

export const title = 'Devices';

const STATES = {registered: ['Registered', 'good'], requested: ['Not registered yet', 'plain'], retired: ['Retired', 'warn']};

export async function show(page) {
  const user = page.query.get('user') ?? '';
  page.heading(title);
  const place = h('div', {}, h('p.loading', {}, 'Loading…'));
  page.content.replaceChildren(byUser('devices', user), place);
  try {
    await deviceList(place, user, page);
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    place.replaceChildren(empty(`There is no user ${user}`, 'The user was deleted, or the name is misspelt.'));
  }
}

/** A form that shows the rows of one user, or of all. */
export function byUser(view, user) {
  const name = h('input', {...VERBATIM, maxlength: 100, pattern: '[\\-A-Za-z0-9_@#+.]*', title: 'The name of a user', value: user});
  const everybody = user ? h('a.button', {href: `#/${view}`}, 'Show all') : null;
  return h('div.find', {}, form({
    fields: field('User', name, {hint: `Leave it empty for the ${view} of all users.`}), submit: 'Show', extra: everybody,
    perform: () => { location.hash = name.value.trim() ? `#/${view}?user=${encodeURIComponent(name.value.trim())}` : `#/${view}`; },
  }));
}

/** The devices of a user, or of all if `user` is empty. */
export function deviceList(place, user, page) {
  return list(place, {
    one: 'device', signal: page.signal,
    load: async cursor => {
      const answer = await ask('GET', path(['devices'], {user, cursor}), {signal: page.signal});
      return {items: answer.Devices, cursor: answer.Cursor, more: answer.More};
    },
    draw: (devices, reload) => devices.length
      ? [h('p.small', {'data-key': 'words'}, 'A retired registration has ended: its app must register again. Topics are tags that the device has chosen.'), table(user ? `Devices of ${user}` : 'Devices', [
        ['Device'], ...(user ? [] : [['User']]), ['Platform'], ['State'], ['Topics'], ['Registered'], ['Last push'], ['Last fetch'], ['Action', {kind: 'action'}],
      ], devices.map(device => ({key: device.Id, cells: cells(device, user, reload)})))]
      : empty(user ? `${user} has no devices` : 'There are no devices', 'A device appears here with its first request for a registration.'),
  });
}

function cells(device, user, reload) {
  const [state, tone] = STATES[device.State] ?? [device.State, 'plain'];
  const topics = device.Tags.filter(tag => !tag.startsWith('username:'));
  return [
    h('span.mono', {title: device.Id}, `${device.Id.slice(0, 8)}…`),
    ...(user ? [] : [h('a', {href: `#/users/${encodeURIComponent(device.User)}`}, device.User)]),
    device.Platform ? [platformName(device.Platform), device.Environment === 'sandbox' ? ' · sandbox' : null, device.App && device.App !== 'default' ? ` · ${device.App}` : null] : '—',
    [badge(state, tone), device.Reason ? h('span.small.below', {}, device.Reason) : null],
    topics.length ? h('span.tags', {}, topics.map(tag => h('span.tag', {}, tag))) : '—',
    ago(device.RegisteredAt), ago(device.LastPush), h('span', {title: 'By any device of the user'}, ago(device.LastFetch)),
    [whyButton(device.Id, `the pushes to device ${device.Id.slice(0, 8)}`), !canManage() || device.State === 'retired' ? null : [device.State === 'registered' ? test(device) : null, h('button.quiet.danger', {type: 'button', 'aria-label': `Unregister the device ${device.Id.slice(0, 8)} of ${device.User}`, onclick: () => askFirst({
      title: `Unregister a device of ${device.User}?`, submit: 'Unregister',
      text: ['Its waiting pushes are cancelled. The device can register again: to keep the user out, disable the user.', `Device ${device.Id}`],
      perform: async () => {
        await ask('DELETE', path(['devices', device.Id]));
        await reload();
        return `The device of ${device.User} is unregistered.`;
      },
    })}, 'Unregister')]],
  ];
}

/** Sends a push with the text “Test.”, and shows the provider’s answer. */
function test(device) {
  return actionButton('Test', async () => {
    const {State, Reason} = await ask('POST', path(['devices', device.Id, 'test']), {timeoutSeconds: 30});
    const text = `The test push to the device of ${device.User} `;
    if (State === 'accepted') return `${text}was accepted by its provider.`;
    const answer = `${text}${State === 'queued' ? 'waits' : 'has failed'}: ${Reason ?? 'no reason was given'}.`.replace(/\.\.$/, '.');
    tell(answer, State === 'failed');
    return null;
  }, {kind: 'quiet', name: `Send a test push to the device ${device.Id.slice(0, 8)} of ${device.User}`});
}
