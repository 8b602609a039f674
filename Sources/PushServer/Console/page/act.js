// Actions: buttons that are busy meanwhile, messages about outcomes, and dialogs that ask first.

import {VERBATIM, h} from './dom.js';
import {Problem, ask as request, path} from './api.js';
import {span} from './words.js';

const place = document.getElementById('outcome');
let fading = 0;

/** Shows an outcome, which screen readers announce. An error stays until it is dismissed. */
export function tell(text, isError = false) {
  clearTimeout(fading);
  place.replaceChildren(h(`div.note${isError ? '.bad' : ''}`, {}, h('p', {}, text),
    h('button.quiet', {type: 'button', 'aria-label': 'Dismiss this message', onclick: hush}, '✕')));
  if (!isError) fading = setTimeout(hush, 10_000);
}

export function hush() {
  clearTimeout(fading);
  place.replaceChildren();
}

/** A problem in words: what is wrong, when to try again, and what to quote. */
export function explain(problem) {
  if (!(problem instanceof Problem)) return [String(problem)];
  const texts = [`${problem.title}${problem.detail ? `: ${problem.detail}` : ''}.`.replace(/\.\.$/, '.')];
  if (problem.retryAfter) texts.push(`Try again in ${span(problem.retryAfter)}.`);
  if (problem.request) texts.push(`Request ${problem.request}.`);
  return texts;
}

/** A box with a problem. */
export function problemBox(problem, ...rest) {
  const [first, ...more] = explain(problem);
  return h('div.problem', {role: 'alert'}, h('p', {}, h('strong', {}, first)), more.length ? h('p.small', {}, more.join(' ')) : null, rest);
}

/** Runs an action. Its button is disabled meanwhile, and for `Retry-After` if the server sends that. */
export async function busily(button, action) {
  if (button.getAttribute('aria-disabled') === 'true') return undefined;
  // This does not set `disabled`, which would take the focus away.
  button.setAttribute('aria-disabled', 'true');
  button.setAttribute('aria-busy', 'true');
  let delay = 0;
  try {
    return await action();
  } catch (problem) {
    delay = problem.retryAfter ?? 0;
    throw problem;
  } finally {
    button.removeAttribute('aria-busy');
    if (delay) setTimeout(() => button.removeAttribute('aria-disabled'), delay * 1000);
    else button.removeAttribute('aria-disabled');
  }
}

/** A button that shows the outcome of its action: the text that `action` returns, or the problem. */
export function actionButton(label, action, {kind = '', name, key} = {}) {
  return h(`button${kind ? `.${kind}` : ''}`, {
    type: 'button', 'aria-label': name, 'data-key': key,
    onclick: async event => {
      const button = event.currentTarget;
      try {
        const text = await busily(button, () => action(button));
        if (text) tell(text);
      } catch (problem) {
        tell(explain(problem).join(' '), true);
      }
    },
  }, label);
}

/** A form that runs `perform`, and shows its problem. */
export function form({fields, submit, perform, kind = 'plain', extra = null}) {
  const trouble = h('div', {'aria-live': 'assertive'});
  const button = h(`button.${kind}`, {type: 'submit'}, submit);
  return h('form', {
    onsubmit: async event => {
      event.preventDefault();
      const form = event.currentTarget;
      trouble.replaceChildren();
      try {
        await busily(button, () => perform(form));
      } catch (problem) {
        trouble.replaceChildren(problemBox(problem));
      }
    },
  }, fields, trouble, h('div.row', {}, button, extra));
}

/**
 * Asks in a dialog, and runs `perform` there, so that its problem can be read in place.
 *
 * With `typed`, that text must be typed first. The browser gives the focus back when the dialog closes.
 */
export function ask({title, text, submit, kind = 'danger', typed, fields = [], perform}) {
  const opener = document.activeElement;
  const input = typed ? h('input', {...VERBATIM, id: 'typed', required: true}) : null;
  const cancel = h('button', {type: 'button', onclick: () => dialog.close()}, 'Cancel');
  const content = form({
    submit, kind, extra: cancel,
    fields: [fields, typed ? h('div.field', {}, h('label', {for: 'typed'}, 'To confirm, type ', h('strong.mono', {}, typed)), input) : null],
    perform: async () => {
      if (typed && input.value.trim().toLowerCase() !== typed.toLowerCase()) {
        input.focus();
        throw new Problem('The text is not the same', {detail: `type ${typed}`});
      }
      const done = await perform();
      dialog.close();
      if (done) tell(done);
    },
  });
  const dialog = h('dialog', {
    'aria-labelledby': 'dialog-title',
    onclose: () => {
      dialog.remove();
      // If the action has removed the opener, the heading gets the focus.
      (opener?.isConnected ? opener : document.querySelector('h1'))?.focus();
    },
  }, h('h2', {id: 'dialog-title'}, title), text ? [text].flat().map(line => h('p', {}, line)) : null, content);
  document.body.append(dialog);
  dialog.showModal();
  // The safe choice gets the focus: the first field of a form, or "Cancel" of a question.
  (dialog.querySelector('input, select, textarea') ?? cancel).focus();
  return dialog;
}

/** Shows a secret once: only the dialog holds it. */
export function reveal({title, name, secret, text, note, told}) {
  const output = h('output.secret.mono', {tabindex: '0', 'aria-label': name}, secret);
  const copy = actionButton('Copy', async () => {
    try {
      await navigator.clipboard.writeText(secret);
      copy.textContent = 'Copied';
    } catch {
      getSelection().selectAllChildren(output);
      copy.textContent = 'Selected: copy it with the keyboard';
    }
  }, {kind: 'primary'});
  inform({
    title, actions: copy, onclose: () => tell(told),
    content: [h('p', {}, text), output, h('p.small', {}, note)],
  });
  copy.focus();
}

/** Shows elements in a dialog. */
function inform({title, content, actions = null, onclose = () => {}}) {
  const opener = document.activeElement;
  const dialog = h('dialog', {'aria-labelledby': 'inform-title', onclose: () => {
    dialog.remove();
    opener?.focus();
    onclose();
  }}, h('h2', {id: 'inform-title'}, title), content, h('div.row', {}, actions, h('button', {type: 'button', onclick: () => dialog.close()}, 'Done')));
  document.body.append(dialog);
  dialog.showModal();
}

/** A button that explains what became of pushes; `subject` is a user, a device or a notification. */
export const whyButton = (subject, about, notification) => actionButton('Explain', async () => {
  const {Sentences} = await request('GET', path(['why', subject], {notification}));
  // The dialog gives the focus back to the button, so the button must be enabled first.
  setTimeout(() => inform({title: `What became of ${about}`, content: Sentences.map(({Text}) => h('p', {}, Text))}));
}, {kind: 'quiet', name: `Explain what became of ${about}`, key: `explain ${subject}`});
