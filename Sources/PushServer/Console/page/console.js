// The page: who is signed in, which view the address names, and how a view is drawn and refreshed.

import * as audit from './audit.js';
import * as devices from './devices.js';
import * as notifications from './notifications.js';
import * as overview from './overview.js';
import * as tokens from './tokens.js';
import * as users from './users.js';
import {Problem, resume, session, setUp, signIn, signOut, whenSessionEnds} from './api.js';
import {actionButton, explain, form, hush, problemBox, tell} from './act.js';
import {field, h, update} from './dom.js';
import {clockTime, span} from './words.js';

const VIEWS = {overview, notifications, users, devices, tokens, audit};
const main = document.getElementById('main');
const bar = document.getElementById('bar');
let current = null;

// MARK: A view

/** What a view draws on, until another takes its place. */
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

  /** Sets the heading, with what stands beside it. The focus goes to it once the page is drawn. */
  heading(text, ...beside) {
    document.title = `${text} – Sealpost`;
    update(this.head, h('h1', {tabindex: '-1'}, text), h('div.row', {}, beside));
  }

  /** Asks and draws again and again while the page is visible, and says since when the figures are old if that fails. */
  every(seconds, load, draw) {
    let timer = 0, failures = 0, last = null, isAsking = false;
    const run = async () => {
      clearTimeout(timer);
      if (isAsking || this.signal.aborted) return;
      isAsking = true;
      let rest = seconds;
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
        rest = Math.max(problem.retryAfter ?? 0, Math.min(60, seconds * 2 ** failures));
        this.stale(problem, last, rest);
      } finally {
        isAsking = false;
        if (!this.signal.aborted && !document.hidden) timer = setTimeout(run, rest * 1000);
      }
    };
    document.addEventListener('visibilitychange', () => document.hidden ? clearTimeout(timer) : run(), {signal: this.signal});
    this.signal.addEventListener('abort', () => clearTimeout(timer));
    this.refresh = run;
    return run();
  }

  say(text, isOld) {
    this.age.classList.toggle('old', isOld);
    // Screen readers are told of trouble and of its end, and not every few seconds.
    this.age.setAttribute('aria-live', isOld || this.wasOld ? 'polite' : 'off');
    this.wasOld = isOld;
    this.age.textContent = text;
  }

  stale(problem, last, rest) {
    const [first] = explain(problem);
    if (!last) this.content.replaceChildren(problemBox(problem, h('p.small', {}, `The next try is in ${span(rest)}.`)));
    this.say(last ? `Old figures, of ${clockTime(last)}. ${first} The next try is in ${span(rest)}.` : '', true);
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
    page = new Page('nowhere');  // An address that is not well encoded.
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
  document.getElementById('nav').replaceChildren(h('ul', {}, Object.entries(VIEWS).map(([key, view]) =>
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

/** Without a session there is nothing but this. */
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
    sentence ? h(`p.sentence${isBad ? '.bad' : ''}`, {role: 'status'}, sentence) : h('p.soft', {}, 'Sign in as an administrator.'), signInForm));
  (sentence ? heading : name).focus();
}

/** The first administrator of a server without users, for whoever has the link that it has printed. */
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
      // The link has been used: it need not stay in the history.
      history.replaceState(null, '', '#/overview');
      begin();
    },
  });
  main.replaceChildren(h('div.gate', {}, h('img', {src: 'icon.svg', alt: '', width: 44, height: 44}),
    h('h1', {tabindex: '-1'}, 'Make the first administrator'),
    h('p.soft', {}, 'This server has no users yet. Choose a name and a password to sign in with.'), setUpForm));
  name.focus();
}

/** Why a sign-in failed, in words for the one who signs in. */
function wordsOf(problem) {
  if (problem.status === 401) return new Problem('The name or the password is wrong', {request: problem.request});
  if (problem.status === 429) return new Problem('There were too many attempts', {retryAfter: problem.retryAfter || 60, request: problem.request});
  return problem;
}

/** After the sign-in: the console, or what it needs. */
function begin() {
  if (session.Role === 'admin' && session.Scopes.includes('manage')) return route();
  const isAdministrator = session.Role === 'admin';
  document.title = 'Not an administrator – Sealpost';
  drawBar('');
  document.getElementById('nav').replaceChildren();
  main.replaceChildren(h('div.gate', {},
    h('h1', {tabindex: '-1'}, isAdministrator ? 'This session may not manage' : 'The console needs an administrator'),
    h('p', {}, isAdministrator ? 'The session lacks the scope “manage”. Sign out, and sign in again.'
      : `You are signed in as ${session.Name}, with the role ${session.Role}. Sign out and sign in as an administrator, or ask one to change your role.`)));
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

// The address is the view's, so the skip link moves the focus by itself.
document.getElementById('skip').addEventListener('click', event => {
  event.preventDefault();
  main.focus();
});
addEventListener('hashchange', route);
// A link to the view that is shown changes no address: it draws the view anew, as a browser loads a page anew.
document.addEventListener('click', event => {
  const link = event.target.closest('a[href^="#/"]');
  if (link && link.hash === location.hash && !event.ctrlKey && !event.metaKey && !event.shiftKey) route();
});
addEventListener('unhandledrejection', event => {
  if (event.reason?.name === 'AbortError') event.preventDefault();
  else tell('The console has made a mistake. Load the page again.', true);
});
start();
