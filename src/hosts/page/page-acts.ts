import { say } from '#kernel/text/message';
import { script } from './markup.ts';

/** The part of the page's script that acts: answers, changes and plans, each as the server made it. SECURITY: it decides nothing (`page-script.ts`). */
export const actsScript = script`// Answers.

let prompt;
/** A page that came to the front just now was not read yet. */
const settled = () => performance.now() - shown.at > 700;

async function approve(button) {
  const { request, digest } = main.querySelector('article').dataset;
  const typed = document.getElementById('typed')?.value ?? '';
  await withPasskey(button, ['begin', { request, digest, typed }], 'finish');
}

/** What is sent is what stands in the page, as it was shown. */
function change(button) {
  return withPasskey(button, ['change', { change: JSON.parse(button.dataset.change) }], 'changed');
}

function addRule(form) {
  const value = (id) => document.getElementById(id).value;
  const rule = { kind: 'rule', pattern: value('pattern').trim(), action: value('ruleaction'), lifeMs: Number(value('rulelife')) };
  return withPasskey(document.getElementById('addrule'), ['change', { change: rule }], 'changed');
}

async function withPasskey(button, [begin, body], finish) {
  if (prompt || !settled()) return;
  prompt = new AbortController();
  button.setAttribute('aria-disabled', 'true');
  try {
    const begun = await mine(begin, body);
    if (!begun.options) return result(begun);
    say(${say`Confirm with your passkey.`});
    const { options } = begun;
    const publicKey = { ...options, challenge: toBytes(options.challenge), allowCredentials: known(options.allowCredentials) };
    const credential = await navigator.credentials.get({ publicKey, signal: prompt.signal });
    result(await mine(finish, { assertion: plain(credential) }));
  } catch (error) {
    result({ ok: false, message: reason(error) });
  } finally {
    prompt = undefined;
    button.removeAttribute('aria-disabled');
    void refresh();
  }
}

function reason(error) {
  if (error.name === 'AbortError') return ${say`It was answered elsewhere meanwhile, or its time was over; your passkey was not used`};
  if (error.name === 'NotAllowedError') return ${say`Nothing was sent: the passkey’s prompt was closed, or its time was over. The request still waits`};
  if (error.name === 'SecurityError') return fill(${say`This browser uses no passkey under this address: ${'{0}'}`}, error.message);
  if (error.name === 'InvalidStateError') return ${say`This device has a passkey for this page already`};
  return error.code ? error.message : ${say`The service does not answer; it is not known whether your answer arrived. Look at the request again`};
}

function deny(button) {
  const requests = button.dataset.requests?.split(' ');
  const request = main.querySelector('article')?.dataset.request;
  askWords({
    title: requests ? denyAllWords(requests.length, button.dataset.agent) : fill(${say`Deny “${'{0}'}”?`}, (main.querySelector('h1')?.textContent ?? '').replace(/\?$/, '')),
    label: ${say`Words for the agent (optional)`},
    yes: ${say`Deny`},
    no: ${say`Keep waiting`},
    // What stood on the page when the question was asked, and nothing that came after.
    act: (message) => mine(requests ? 'deny-many' : 'deny', requests ? { requests, message } : { request, message }),
  });
}

function denyAllWords(count, agent) {
  return agent ? fill(${say`Deny all ${'{0}'} requests of ${'{1}'}?`}, count, agent) : fill(${say`Deny all ${'{0}'} requests?`}, count);
}

function pauseAll() {
  askWords({
    title: ${say`Pause all agents?`},
    label: ${say`Why (agents and people are told; optional)`},
    yes: ${say`Pause all agents`},
    no: ${say`Let them work`},
    act: (message) => mine('pause-all', { message }),
  });
}

async function told(act) {
  try {
    const answer = await act();
    result(answer);
    if (answer.open) location.assign(answer.open);
  } catch (error) {
    result({ ok: false, message: reason(error) });
  }
  void refresh();
}

function controlPlan({ dataset: { plan, control } }) {
  void told(() => mine('plan', { request: plan, control }));
}

async function strike(form) {
  const button = form.querySelector('button');
  const steps = [...form.querySelectorAll('input:checked')].map((input) => Number(input.value));
  if (steps.length === 0) return result({ ok: false, message: ${say`Choose the steps to strike first`} });
  if (button.getAttribute('aria-disabled') === 'true') return;
  button.setAttribute('aria-disabled', 'true');
  await told(() => mine('strike', { request: main.querySelector('article').dataset.request, steps }));
  button.removeAttribute('aria-disabled');
}

function askWords({ title, label, yes, no, act }) {
  const ask = document.getElementById('ask');
  const texts = { asktitle: title, wordslabel: label, askyes: yes, askno: no };
  for (const [id, text] of Object.entries(texts)) document.getElementById(id).textContent = text;
  document.getElementById('words').value = '';
  ask.onclose = () => {
    if (ask.returnValue === 'yes') void told(() => act(document.getElementById('words').value));
  };
  ask.returnValue = '';
  ask.showModal();
}

document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-act]');
  if (!button || button.getAttribute('aria-disabled') === 'true') return;
  if (button.dataset.act === 'approve') void approve(button);
  else if (button.dataset.act === 'enrol') void enrol(button);
  else if (button.dataset.act === 'change') void change(button);
  else if (button.dataset.act === 'plan') controlPlan(button);
  else if (button.dataset.act === 'pause-all') pauseAll();
  else deny(button);
});

document.addEventListener('submit', (event) => {
  const { act } = event.target.dataset;
  if (act !== 'rule' && act !== 'strike') return;
  event.preventDefault();
  if (act === 'rule') void addRule(event.target);
  else void strike(event.target);
});
`;
