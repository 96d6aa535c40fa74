import { say } from '#kernel/text/message';
import { script } from './markup.ts';
import { actsScript } from './page-acts.ts';
import { soundScript } from './page-sound.ts';
import { leftWords, timeOver } from './views.ts';

/**
 * The page's script, as the browser gets it. SECURITY: it takes no decision. It shows what the server made, proves the browser's key, and
 * carries an assertion; every check is the server's. No clock of this device counts.
 */
export const pageScript = script`'use strict';
const main = document.getElementById('main');
const trusted = window.trustedTypes
  ? window.trustedTypes.createPolicy('banksman', { createHTML: (text) => text })
  : { createHTML: (text) => text };

// Requests to the server this page came from.

async function api(name, body, token) {
  const response = await fetch('/api/' + name, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(token ? { 'x-banksman-session': token } : {}) },
    body: JSON.stringify(body),
    credentials: 'omit',
    redirect: 'error',
    // A plan is rehearsed while its asker waits.
    signal: AbortSignal.timeout(name === 'strike' ? 120000 : 20000),
  });
  const answer = await response.json();
  if (response.ok) return answer;
  throw Object.assign(new Error(answer.message), { code: answer.code, view: answer.view });
}

async function mine(name, body) {
  try {
    return await api(name, body, await session());
  } catch (error) {
    // The service was started anew: its memory of this page is gone, the browser's key is not.
    if (error.code !== 'no_session') throw error;
    sessionStorage.removeItem('session');
    return api(name, body, await session());
  }
}

let opening;
function session() {
  const token = sessionStorage.getItem('session');
  if (token) return token;
  opening ??= openSession().finally(() => (opening = undefined));
  return opening;
}

async function openSession() {
  const { nonce } = await api('nonce', {});
  const kept = await device();
  const text = new TextEncoder().encode('banksman page\n' + location.origin + '\n' + nonce);
  const proof = kept
    ? { device: kept.device, nonce, signature: toText(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, kept.key, text)) }
    : { device: '', nonce, signature: '' };
  const { token } = await api('session', proof);
  sessionStorage.setItem('session', token);
  return token;
}

// The browser's own key: made at enrolment, cannot be taken out.

function database() {
  return new Promise((resolve, reject) => {
    const opened = indexedDB.open('banksman', 1);
    opened.onupgradeneeded = () => opened.result.createObjectStore('keys');
    opened.onsuccess = () => resolve(opened.result);
    opened.onerror = () => reject(opened.error);
  });
}

async function inStore(mode, work) {
  const db = await database();
  try {
    return await new Promise((resolve, reject) => {
      const request = work(db.transaction('keys', mode).objectStore('keys'));
      request.onsuccess = () => resolve(request.result);
      request.onerror = () => reject(request.error);
    });
  } finally {
    db.close();
  }
}

const device = () => inStore('readonly', (store) => store.get('device'));

async function newDevice() {
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  return { key: pair.privateKey, device: toText(await crypto.subtle.exportKey('spki', pair.publicKey)) };
}

// Bytes and text.

function toText(buffer) {
  return btoa(String.fromCharCode(...new Uint8Array(buffer))).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');
}
function toBytes(text) {
  return Uint8Array.from(atob(text.replaceAll('-', '+').replaceAll('_', '/')), (char) => char.charCodeAt(0));
}
const known = (list) => (list ?? []).map((entry) => ({ ...entry, id: toBytes(entry.id) }));
function plain(credential) {
  const { response } = credential;
  const part = (name) => {
    const value = response[name] ?? (name === 'authenticatorData' ? response.getAuthenticatorData?.() : undefined);
    return value ? { [name]: toText(value) } : {};
  };
  const names = ['clientDataJSON', 'authenticatorData', 'signature', 'userHandle', 'attestationObject'];
  const parts = Object.assign({}, ...names.map(part));
  return { id: credential.id, rawId: toText(credential.rawId), type: credential.type, clientExtensionResults: {}, response: parts };
}

// Showing.

let shown = { key: '', summary: '', at: 0 };
const timeless = (text) => text.replace(/data-left="\d+">[^<]*/g, '');

function show(view) {
  document.title = view.title + ' · Banksman';
  const key = timeless(view.main);
  if (key === shown.key) return renewTimes(view.main);
  const fresh = shown.key === '';
  const focused = document.activeElement?.id;
  const values = [...main.querySelectorAll('input, select')].map((input) => [input.id, input.value, input.checked]);
  const open = [...main.querySelectorAll('details[open] > summary')].map((summary) => summary.id);
  main.innerHTML = trusted.createHTML(view.main);
  for (const [id, value, checked] of values) {
    const input = document.getElementById(id);
    if (input) Object.assign(input, { value, checked });
  }
  for (const id of open) if (document.getElementById(id)) document.getElementById(id).parentElement.open = true;
  if (focused && document.activeElement?.id !== focused) (main.querySelector('#' + CSS.escape(focused)) ?? (fresh ? undefined : main))?.focus({ preventScroll: true });
  if (!fresh && view.summary !== shown.summary) say(view.summary);
  shown = { key, summary: view.summary, at: performance.now() };
  count();
}

function renewTimes(markup) {
  const left = [...markup.matchAll(/data-left="(\d+)"/g)].map((match) => match[1]);
  main.querySelectorAll('[data-left]').forEach((span, index) => {
    span.dataset.left = left[index] ?? '0';
    delete span.dataset.ends;
  });
  count();
}

function count() {
  for (const span of main.querySelectorAll('[data-left]')) {
    span.dataset.ends ??= String(performance.now() + Number(span.dataset.left) * 1000);
    const seconds = Math.max(0, Math.floor((Number(span.dataset.ends) - performance.now()) / 1000));
    const clock = Math.floor(seconds / 60) + ':' + String(seconds % 60).padStart(2, '0');
    const left = seconds < 600 ? fill(${leftWords('{0}')}, clock) : fill(${leftWords(say`${'{0}'} minutes`)}, Math.round(seconds / 60));
    span.textContent = seconds === 0 ? ${timeOver} : left;
    span.classList.toggle('soon', seconds < 120);
  }
}

/** What stands in a text's places, as text. */
function fill(text, ...values) {
  return text.replace(/\{(\d)\}/g, (place, number) => String(values[number] ?? place));
}

function say(text) {
  document.getElementById('said').textContent = text;
}

function trouble(text) {
  const place = document.getElementById('trouble');
  if (place.textContent !== text) place.textContent = text;
}

function result(answer) {
  const place = document.getElementById('result');
  place.textContent = answer.message.charAt(0).toUpperCase() + answer.message.slice(1) + (/[.!?]$/.test(answer.message) ? '' : '.');
  place.className = answer.ok ? 'notice good' : 'notice bad';
  place.hidden = false;
  place.focus();
}

let soon;
let refreshing = false;
let again = false;
async function refresh() {
  if (refreshing) return void (again = true);
  refreshing = true;
  try {
    do {
      again = false;
      const view = await mine('view', { path: location.pathname });
      trouble('');
      // Decided elsewhere while the finger is on the key.
      if (prompt && !view.open && location.pathname.startsWith('/r/')) prompt.abort();
      show(view);
      listen();
      clearTimeout(soon);
      if (view.lively && !document.hidden) soon = setTimeout(() => void refresh(), 2000);
    } while (again);
  } catch (error) {
    if (error.view) show(error.view);
    else trouble(error.code ? error.message : ${say`The service does not answer. What you see may be old; this page tries again.`});
    if (error.code === 'not_enrolled') sessionStorage.removeItem('session');
  } finally {
    refreshing = false;
  }
}

// Changes, as the server tells them: a line each, and one now and then.

const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
let following;
async function follow() {
  for (let wait = 500; ; wait = Math.min(wait * 2, 8000)) {
    await visible();
    await refresh();
    try {
      following = new AbortController();
      const token = await session();
      const headers = { 'content-type': 'application/json', 'x-banksman-session': token };
      const response = await fetch('/api/changes', { method: 'POST', headers, body: '{}', credentials: 'omit', signal: following.signal });
      if (!response.ok) throw new Error(String(response.status));
      const reader = response.body.getReader();
      for (;;) {
        const { done } = await reader.read();
        if (done) break;
        wait = 500;
        await refresh();
      }
    } catch {
      // Gone, or not enrolled: the next look says which.
    }
    await pause(wait);
  }
}

function visible() {
  if (!document.hidden) return Promise.resolve();
  return new Promise((resolve) => document.addEventListener('visibilitychange', resolve, { once: true }));
}

${actsScript}
${() => soundScript}
// Enrolment: the link stands behind the #, which is sent to nobody.

let link = '';
let creation;
async function beginEnrol() {
  link = location.hash.slice(1) || sessionStorage.getItem('link') || '';
  history.replaceState(null, '', '/enrol');
  sessionStorage.setItem('link', link);
  try {
    const begun = await api('enrol', { link });
    creation = begun.options;
    show(begun.view);
  } catch (error) {
    if (error.view) show(error.view);
    else trouble(error.message);
  }
}

async function enrol(button) {
  button.setAttribute('aria-disabled', 'true');
  try {
    const kept = await newDevice();
    const user = { ...creation.user, id: toBytes(creation.user.id) };
    const challenge = toBytes(creation.challenge);
    const credential = await navigator.credentials.create({ publicKey: { ...creation, challenge, user, excludeCredentials: known(creation.excludeCredentials) } });
    const { view } = await api('enrolled', { link, credential: plain(credential), device: kept.device });
    await inStore('readwrite', (store) => store.put(kept, 'device'));
    void navigator.storage?.persist?.();
    sessionStorage.removeItem('link');
    sessionStorage.removeItem('session');
    show(view);
    await counted();
  } catch (error) {
    if (error.view) show(error.view);
    else result({ ok: false, message: error.name === 'NotAllowedError' ? ${say`No passkey was made: the prompt was closed, or its time was over. Try again`} : reason(error) });
  } finally {
    button.removeAttribute('aria-disabled');
  }
}

/** Until the other side has said that the fingerprints are the same. */
async function counted() {
  for (let look = 0; look < 300; look += 1) {
    await pause(2000);
    try {
      await session();
      return location.replace('/me');
    } catch (error) {
      if (error.code !== 'not_enrolled') trouble(error.message);
    }
  }
}

for (const anchor of document.querySelectorAll('[data-nav]')) if (anchor.dataset.nav === location.pathname) anchor.setAttribute('aria-current', 'page');
setInterval(count, 1000);
document.addEventListener('visibilitychange', () => {
  shown.at = performance.now();
  if (document.hidden) following?.abort();
});
addEventListener('focus', () => (shown.at = performance.now()));
addEventListener('pageshow', (event) => event.persisted && location.reload());
if (location.pathname === '/enrol') void beginEnrol();
else void follow();
`;
