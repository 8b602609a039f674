// Users: the list, adding one, and the rights of one.

import {ask, canManage, path, session} from './api.js';
import {actionButton, ask as askFirst, explain, form, reveal, tell, whyButton} from './act.js';
import {deviceList} from './devices.js';
import {VERBATIM, badge, empty, field, h, table} from './dom.js';
import {list} from './lists.js';
import {ago, at} from './words.js';

export const title = 'Users';

const ROLES = [
  ['device', 'Device', 'registers own devices, and sends to itself'],
  ['viewer', 'Viewer', 'also sees users, devices and deliveries, and changes nothing'],
  ['publisher', 'Publisher', 'also sends to any user, and assigns tags'],
  ['admin', 'Administrator', 'does all this, and manages users and tokens'],
];
const roleName = role => ROLES.find(([value]) => value === role)?.[1] ?? role;
const NAME = {...VERBATIM, required: true, maxlength: 100, pattern: '[\\-A-Za-z0-9_@#+.]{1,100}', title: 'The letters A to Z, digits and - _ @ # + . are allowed'};
const LETTERS = 'abcdefghijkmnpqrstuvwxyzABCDEFGHJKLMNPQRSTUVWXYZ23456789';

export function show(page) {
  return page.parts[1] ? showOne(page, page.parts[1]) : showAll(page);
}

const link = name => `#/users/${encodeURIComponent(name)}`;

// MARK: All

async function showAll(page) {
  page.heading(title, canManage() && h('button.primary', {type: 'button', onclick: add}, 'Add a user'));
  let redraw = () => {};
  const name = h('input', {...NAME, type: 'search', oninput: () => redraw()});
  const place = h('div', {}, h('p.loading', {}, 'Loading…'));
  page.content.replaceChildren(
    h('div.find', {}, form({
      fields: field('Name', name, {hint: 'Typing narrows the list; “Open” finds any user by the whole name.'}), submit: 'Open',
      perform: async () => {
        const found = await ask('GET', path(['users', name.value.trim()]), {signal: page.signal});
        location.hash = link(found.Name);
      },
    })), place);
  const {render} = await list(place, {
    one: 'user', signal: page.signal,
    load: async cursor => {
      const answer = await ask('GET', path(['users'], {cursor, limit: 200}), {signal: page.signal});
      return {items: answer.Users, cursor: answer.Cursor, more: answer.More};
    },
    draw: users => {
      const words = name.value.trim().toLowerCase();
      const found = users.filter(user => user.Name.toLowerCase().includes(words)).sort((one, other) => one.Name.localeCompare(other.Name));
      if (found.length === 0) return empty('No user fits', '“Open” searches all users.');
      return table('Users', [['Name'], ['Role'], ['Apps'], ['State'], ['Added'], ['Last push'], ['Last fetch']], found.map(user => ({key: user.Name, cells: [
        h('a.strong', {href: link(user.Name)}, user.Name), roleName(user.Role), apps(user), state(user), ago(user.CreatedAt), ago(user.LastPush), ago(user.LastFetch),
      ]})));
    },
  });
  redraw = render;
}

const apps = user => user.Role === 'admin' ? 'all' : user.Apps.join(', ') || 'none';
const state = user => [user.Disabled ? badge('Disabled', 'warn') : badge('Active', 'good'), user.RequiresEncryption && badge('Encryption required', 'good')];
/** The apps in a field; `undefined` if it is empty, as a request then leaves them as they are. */
const split = text => text.match(/[^\s,]+/g) ?? undefined;

const roleSelect = role => h('select', {}, ROLES.map(([value, name, meaning]) => h('option', {value, selected: value === role}, `${name} – ${meaning}`)));

/** A password field, and a button that makes a long random one and shows it. */
function passwordField(label) {
  const input = h('input', {type: 'password', required: true, minlength: 8, maxlength: 256, autocomplete: 'new-password'});
  const make = h('button', {type: 'button', onclick: () => {
    const bytes = crypto.getRandomValues(new Uint32Array(20));
    input.value = Array.from(bytes, value => LETTERS[value % LETTERS.length]).join('');
    input.type = 'text';
    input.select();
  }}, 'Make one');
  return [input, field(label, h('span.joined', {}, input, make), {hint: '8 characters or more, none of the most common ones.'}, input)];
}

function add() {
  const name = h('input', NAME);
  const [password, passwordPart] = passwordField('Password');
  // A field that is not shown must not be required.
  const without = h('input', {type: 'checkbox', onchange: () => passwordPart.hidden = password.disabled = without.checked});
  const role = roleSelect('device');
  const appList = h('input', {...VERBATIM, value: 'default'});
  askFirst({
    title: 'Add a user', submit: 'Add', kind: 'primary',
    fields: [field('Name', name), passwordPart, h('label.check', {}, without, h('span', {}, 'Without a password: devices sign in with one-time codes, or an issuer signs the user in')), field('Role', role), field('Apps', appList, {hint: 'Separate apps by commas. Empty: default. Administrators belong to all.'})],
    perform: async () => {
      const made = await ask('POST', '/api/users', {body: {Name: name.value.trim(), ...(without.checked ? {WithoutPassword: true} : {Password: password.value}), Role: role.value, Apps: split(appList.value)}});
      location.hash = link(made.Name);
      setTimeout(() => tell(`${made.Name} is added.`), 50);
      return null;
    },
  });
}

// MARK: One

async function showOne(page, name) {
  page.heading(name);
  const signal = page.signal;
  let user;
  try {
    user = await ask('GET', path(['users', name]), {signal});
  } catch (problem) {
    if (problem.status !== 404) throw problem;
    page.content.replaceChildren(empty(`There is no user ${name}`, 'The user was deleted, or the name is misspelt.', h('a', {href: '#/users'}, 'All users')));
    return undefined;
  }
  page.heading(user.Name, whyButton(user.Name, `the pushes to ${user.Name}`));
  const devices = h('div', {}, h('p.loading', {}, 'Loading…'));
  const facts = h('dl.facts.flat'), tags = h('div'), may = h('div');
  const drawFacts = () => facts.replaceChildren(...[['Role', roleName(user.Role)], ['Apps', apps(user)], ['State', state(user)], ['Added', at(user.CreatedAt)], ['Password', user.HasPassword ? 'yes' : 'none'], ['Last push', ago(user.LastPush)], ['Last fetch', ago(user.LastFetch)]]
    .map(([term, value]) => h('div', {}, h('dt', {}, term), h('dd', {}, value))));
  const change = async (body, sentence) => {
    await ask('PATCH', path(['users', user.Name]), {body});
    user = await ask('GET', path(['users', user.Name]), {signal});
    drawFacts();
    drawSwitch();
    return sentence;
  };
  const drawSwitch = () => may.querySelector('button')?.replaceChildren(user.Disabled ? 'Enable this user' : 'Disable this user');
  drawFacts();
  if (!canManage()) {
    page.content.replaceChildren(
      facts, part('tags', 'Tags', tagList(user.Tags)),
      h('section', {'aria-labelledby': 'devices'}, h('h2', {id: 'devices'}, 'Devices'), devices));
    return deviceList(devices, user.Name, page);
  }
  may.append(signInPart(() => user, change));
  drawTags(tags, user.Name, user.Tags);
  page.content.replaceChildren(
    facts,
    part('role', 'Role and apps', roleForm(user, change)),
    part('signing', 'Signing in', may, passwordForm(user, change), codePart(user.Name)),
    part('tags', 'Tags', h('p.small', {}, 'A tag names a group of users: a notification to it reaches all their devices.'), tags),
    h('section', {'aria-labelledby': 'devices'}, h('div.section-head', {}, h('h2', {id: 'devices'}, 'Devices'), h('a.small', {href: `#/tokens?user=${encodeURIComponent(user.Name)}`}, 'Tokens of this user')), devices),
    part('delete', 'Delete', h('p', {}, 'All devices, sessions and tokens of the user are deleted, too. This cannot be undone.'), deleteButton(user)));
  drawSwitch();
  return deviceList(devices, user.Name, page);
}

const part = (id, heading, ...content) => h('section.card.part', {'aria-labelledby': id}, h('h2', {id}, heading), h('div', {}, content));

function roleForm(user, change) {
  const role = roleSelect(user.Role);
  const appList = h('input', {...VERBATIM, value: user.Apps.join(', ')});
  return form({
    fields: [field('Role', role), field('Apps', appList, {hint: 'Empty: unchanged. Devices of apps that the user leaves are retired.'})], submit: 'Save',
    perform: async () => tell(await change({Role: role.value, Apps: split(appList.value)}, `Role and apps of ${user.Name} are saved.`)),
  });
}

function signInPart(current, change) {
  return h('div.row.spread', {}, h('p', {}, 'The server refuses a disabled user at once. Devices and tags are kept.'),
    actionButton('', async () => {
      const user = current();
      if (user.Disabled) return change({Disabled: false}, `${user.Name} is enabled.`);
      const isSelf = user.Name.toLowerCase() === session.Name.toLowerCase();
      askFirst({
        title: `Disable ${user.Name}?`, submit: 'Disable',
        text: isSelf ? 'That is you: this console is closed to you at once.' : 'The user is refused from the next request on, until enabled again.',
        perform: () => change({Disabled: true}, `${user.Name} is disabled.`),
      });
      return null;
    }));
}

function passwordForm(user, change) {
  const [password, passwordPart] = passwordField('New password');
  return form({
    // Password managers need the user's name.
    fields: [h('input', {type: 'text', autocomplete: 'username', value: user.Name, hidden: true}), passwordPart], submit: 'Set the password',
    perform: async () => {
      tell(await change({Password: password.value}, `The password of ${user.Name} is set, and all sessions of the user have ended.`));
      password.value = '';
      password.type = 'password';
    },
  });
}

/** A one-time code, which a device exchanges for its own token. */
function codePart(name) {
  return h('div.row.spread', {}, h('p', {}, 'A device signs in with a one-time code instead of a password. The code is valid for 15 minutes.'), actionButton('Make a one-time code', async () => {
    const {Code, ExpiresAt} = await ask('POST', path(['users', name, 'enrolment']));
    // The dialog gives the focus back to the button, so the button must be enabled first.
    setTimeout(() => reveal({
      title: 'The one-time code', name: 'The code', secret: Code, told: `A one-time code for ${name} is made.`,
      text: 'Type it on the device, or copy it: it is shown only once.', note: [badge(`for ${name}`), ' It expires ', at(ExpiresAt), '.'],
    }));
  }));
}

function drawTags(place, name, tags) {
  // The server replaces all tags at once, so the change starts from its present tags.
  const save = async (edit, sentence) => {
    const {Tags} = await ask('GET', path(['users', name, 'tags']));
    await ask('PUT', path(['users', name, 'tags']), {body: {Tags: edit(Tags)}});
    drawTags(place, name, (await ask('GET', path(['users', name, 'tags']))).Tags);
    place.querySelector('input').focus();
    tell(sentence);
  };
  const input = h('input', {...VERBATIM, required: true, maxlength: 120, pattern: '[\\-A-Za-z0-9_@#+.:]{1,120}', title: 'The letters A to Z, digits and - _ @ # + . : are allowed'});
  place.replaceChildren(
    tagList(tags, tag => h('button.quiet', {
      type: 'button', 'aria-label': `Remove the tag ${tag}`,
      onclick: () => save(all => all.filter(other => other !== tag), `The tag ${tag} is removed.`).catch(problem => tell(explain(problem).join(' '), true)),
    }, '✕')),
    form({fields: field('Another tag', input), submit: 'Add the tag', perform: () => save(all => [...all, input.value.trim()], `The tag ${input.value.trim()} is added.`)}));
}

const tagList = (tags, button = () => null) => tags.length
  ? h('ul.tags', {'aria-label': 'Tags'}, tags.map(tag => h('li.tag', {}, tag, button(tag)))) : h('p', {}, 'The user has no tags.');

function deleteButton(user) {
  return h('button.danger', {type: 'button', onclick: () => askFirst({
    title: `Delete ${user.Name}?`, submit: 'Delete', typed: user.Name, text: 'All devices, sessions and tokens of the user are deleted, too.',
    perform: async () => {
      await ask('DELETE', path(['users', user.Name]));
      location.hash = '#/users';
      setTimeout(() => tell(`${user.Name} is deleted.`), 50);
      return null;
    },
  })}, 'Delete this user');
}
