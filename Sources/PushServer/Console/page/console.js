// The page: signs in, chooses the view by the address, and draws and refreshes it.

import * as audit from './audit.js';
import * as devices from './devices.js';
import * as failures from './failures.js';
import * as notifications from './notifications.js';
import * as overview from './overview.js';
import * as tokens from './tokens.js';
import * as users from './users.js';
import {Problem, canManage, resume, session, setUp, signIn, signOut, whenSessionEnds} from './api.js';
import {actionButton, explain, form, hush, problemBox, tell} from './act.js';
import {field, h, update} from './dom.js';
import {clockTime, span} from './words.js';

const VIEWS = {overview, notifications, failures, users, devices, tokens, audit};
const main = document.getElementById('main');
const bar = document.getElementById('bar');
let current = null;

// MARK: A view

/** The page that a view draws on, until another view replaces it. */
class Page {
  constructor(address) {
    const [path, query = ''] = address.split('?');
    this.parts = path.split('/').map(decodeURIComponent);
    this.query = new URLSearchParams(query);
    this.controller = new AbortController();
    this.signal = this.controller.signal;
    this.head = h('div.head');
    this.age = h('p.small.age', {role: 'status'});
    this.content = h('div.content', {}, h('p.loading', {}, 'Loading…'));
  }

  /** Sets the heading and the elements next to it. */
  heading(text, ...beside) {
    document.title = `${text} – Sealpost`;
    update(this.head, h('h1', {tabindex: '-1'}, text), h('div.row', {}, beside));
  }

  /** Calls `load` and `draw` at intervals while the page is visible. After a failure, shows the age of the figures. */
  every(seconds, load, draw) {
    let timer = 0, failures = 0, last = null, isAsking = false;
    const run = async () => {
      clearTimeout(timer);
      if (isAsking || this.signal.aborted) return;
      isAsking = true;
      let delay = seconds;
      try {
        const answer = await load();
        if (this.signal.aborted) return;
        draw(answer);
        last = new Date();
        failures = 0;
        this.say(`Updated at ${clockTime(last)}, every ${seconds} s`, false);
      } catch (problem) {
        if (this.signal.aborted || problem.status === 401) return;
        failures += 1;
        delay = Math.max(problem.retryAfter ?? 0, Math.min(60, seconds * 2 ** failures));
        this.stale(problem, last, delay);
      } finally {
        isAsking = false;
        if (!this.signal.aborted && !document.hidden) timer = setTimeout(run, delay * 1000);
      }
    };
    document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : run(), {signal: this.signal});
    this.signal.addEventListener('abort', () => clearTimeout(timer));
    this.refresh = run;
    return run();
  }

  say(text, isOld) {
    this.age.classList.toggle('old', isOld);
    // Screen readers announce a failure and its end only, and no refresh.
    this.age.setAttribute('aria-live', isOld || this.wasOld ? 'polite' : 'off');
    this.wasOld = isOld;
    this.age.textContent = text;
  }

  stale(problem, last, delay) {
    const [first] = explain(problem);
    if (!last) this.content.replaceChildren(problemBox(problem, h('p.small', {}, `The next try is in ${span(delay)}.`)));
    this.say(last ? `Old figures, of ${clockTime(last)}. ${first} The next try is in ${span(delay)}.` : '', true);
  }

  leave() {
    this.controller.abort();
  }
}

/** Draws the view that the address names. */
async function route() {
  if (!session) return;
  current?.leave();
  document.querySelector('dialog')?.close();
  hush();
  const address = location.hash.replace(/^#\/?/, '') || 'overview';
  let page;
  try {
    page = new Page(address);
  } catch {
    page = new Page('nowhere');  // The address has an invalid encoding.
  }
  current = page;
  const view = VIEWS[page.parts[0]];
  drawBar(page.parts[0]);
  page.heading(view?.title ?? 'Not found');
  main.replaceChildren(page.head, page.age, page.content);
  page.head.firstChild.focus({preventScroll: true});
  scrollTo(0, 0);
  if (!view) {
    page.content.replaceChildren(h('p', {}, 'The console has no such page. ', h('a', {href: '#/overview'}, 'Go to the overview'), '.'));
    return;
  }
  try {
    await view.show(page);
  } catch (problem) {
    if (page.signal.aborted || problem.status === 401) return;
    page.content.replaceChildren(problemBox(problem, h('button', {type: 'button', onclick: route}, 'Try again')));
    if (!(problem instanceof Problem)) throw problem;
  }
}

function drawBar(name) {
  bar.hidden = false;
  document.getElementById('nav').replaceChildren(h('ul', {}, Object.entries(VIEWS).filter(([key]) => canManage() || key !== 'tokens').map(([key, view]) =>
    h('li', {}, h('a', {href: `#/${key}`, 'aria-current': key === name ? 'page' : null}, view.title)))));
  document.querySelector('[aria-current]')?.scrollIntoView({block: 'nearest', inline: 'center'});
  drawAccount();
}

function drawAccount() {
  document.getElementById('account').replaceChildren(h('span.who', {}, h('span.unseen', {}, 'Signed in as '), session.Name), actionButton('Sign out', async () => {
    await signOut();
    drawSignIn('You are signed out.');
  }, {kind: 'quiet'}));
}

// MARK: Signing in

/** Draws the form for signing in, the only view without a session. */
function drawSignIn(sentence = '', isBad = false) {
  current?.leave();
  current = null;
  document.querySelector('dialog')?.close();
  bar.hidden = true;
  hush();
  document.title = 'Sign in – Sealpost';
  const name = h('input', {type: 'text', autocomplete: 'username', autocapitalize: 'off', spellcheck: 'false', required: true, maxlength: 100});
  const password = h('input', {type: 'password', autocomplete: 'current-password', required: true});
  const signInForm = form({
    fields: [field('Name', name), field('Password', password)],
    submit: 'Sign in', kind: 'primary',
    perform: async () => {
      try {
        await signIn(name.value.trim(), password.value);
      } catch (problem) {
        password.focus();
        password.select();
        throw wordsOf(problem);
      }
      password.value = '';
      begin();
    },
  });
  const heading = h('h1', {tabindex: '-1'}, 'Sealpost console');
  main.replaceChildren(h('div.gate', {}, h('img', {src: 'icon.svg', alt: '', width: 44, height: 44}), heading,
    sentence ? h(`p.sentence${isBad ? '.bad' : ''}`, {role: 'status'}, sentence) : h('p.soft', {}, 'Sign in as an administrator or a viewer.'), signInForm));
  (sentence ? heading : name).focus();
}

/** Makes the first administrator of a server without users, with the printed link. */
function drawSetUp(code) {
  bar.hidden = true;
  document.title = 'First administrator – Sealpost';
  const name = h('input', {type: 'text', autocomplete: 'username', autocapitalize: 'off', spellcheck: 'false', required: true, maxlength: 100});
  const password = h('input', {type: 'password', autocomplete: 'new-password', required: true});
  const setUpForm = form({
    fields: [field('Name', name), field('Password', password)],
    submit: 'Make the administrator', kind: 'primary',
    perform: async () => {
      await setUp(code, name.value.trim(), password.value);
      password.value = '';
      // The link works once, so the history need not keep it.
      history.replaceState(null, '', '#/overview');
      begin();
    },
  });
  main.replaceChildren(h('div.gate', {}, h('img', {src: 'icon.svg', alt: '', width: 44, height: 44}),
    h('h1', {tabindex: '-1'}, 'Make the first administrator'),
    h('p.soft', {}, 'This server has no users yet. Choose a name and a password to sign in with.'), setUpForm));
  name.focus();
}

/** The problem of a failed sign-in, in the words of the form. */
function wordsOf(problem) {
  if (problem.status === 401) return new Problem('The name or the password is wrong', {request: problem.request});
  if (problem.status === 429) return new Problem('There were too many attempts', {retryAfter: problem.retryAfter || 60, request: problem.request});
  return problem;
}

/** Shows the console after the sign-in, or the missing right. */
function begin() {
  if (canManage() || (session.Role === 'viewer' && session.Scopes.includes('view'))) return route();
  const isAdministrator = session.Role === 'admin';
  document.title = 'Not an administrator – Sealpost';
  drawBar('');
  document.getElementById('nav').replaceChildren();
  main.replaceChildren(h('div.gate', {},
    h('h1', {tabindex: '-1'}, isAdministrator ? 'This session cannot manage' : 'The console needs an administrator or a viewer'),
    h('p', {}, isAdministrator ? 'The session lacks the scope “manage”. Sign out, and sign in again.'
      : `You are signed in as ${session.Name}, with the role ${session.Role}. Sign out and sign in as another user, or ask an administrator to change your role.`)));
  main.querySelector('h1').focus();
  return undefined;
}

whenSessionEnds(() => drawSignIn('Your session has ended. Sign in again to go on.', true));

async function start() {
  try {
    if (await resume()) begin();
    else if (location.hash.startsWith('#/setup/')) drawSetUp(location.hash.slice(8));
    else drawSignIn();
  } catch (problem) {
    main.replaceChildren(h('div.gate', {}, h('h1', {tabindex: '-1'}, 'Sealpost console'),
      problemBox(problem), h('button.primary', {type: 'button', onclick: start}, 'Try again')));
    main.querySelector('h1').focus();
  }
}

// The address names the view, so the skip link cannot change the address. It moves the focus instead.
document.getElementById('skip').addEventListener('click', event => {
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', route);
// A link to the present view changes no address, so it redraws the view, as a browser reloads a page.
document.addEventListener('click', event => {
  const link = event.target.closest('a[href^="#/"]');
  if (link && link.hash === location.hash && !event.ctrlKey && !event.metaKey && !event.shiftKey) route();
});
addEventListener('unhandledrejection', event => {
  if (event.reason?.name === 'AbortError') event.preventDefault();
  else tell('An error in the console has stopped this action. Load the page again.', true);
});
start();
