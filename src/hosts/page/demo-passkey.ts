/**
 * A passkey in software, for whoever tries the demo in a browser that has no authenticator. SECURITY: whoever drives that browser can use it, so
 * the script is served by a page of the demo alone (`banksman page`), and what it makes counts at no origin that another page can have
 * (`softwareModel` in approval/passkey.ts).
 */
import { say } from '#kernel/text/message';
import { html, nothing, script } from './markup.ts';

/** Beside the button that asks this device. */
export function demoButton(isDemo: boolean) {
  return isDemo
    ? html`<button type="button" data-act="enrol" data-passkey="demo" id="enrol-demo">${say`Use a demo passkey`}</button></div>
<p class="quiet">${say`A demo passkey is software in this browser, for a device that has no passkeys. It needs no finger, face or PIN, so it proves less; only this demo takes it.`}`
    : nothing;
}

export function demoNotice(isDemo: boolean) {
  return isDemo ? html`<p class="demo">${say`Demo: its cluster is made up, and a passkey may be software in this browser.`}</p>` : nothing;
}

/**
 * Stands in for the browser's authenticator (WebAuthn §6.1, §5.8.1) where the person chose it; everything else, this device's own passkeys included,
 * goes on as without it. Every use asks, as an authenticator does.
 */
export const demoScript = script`'use strict';
const own = navigator.credentials;
const [create, get] = [own.create.bind(own), own.get.bind(own)];
let chosen = false;
document.addEventListener('click', (event) => {
  const button = event.target.closest('button[data-act="enrol"]');
  if (button) chosen = button.dataset.passkey === 'demo';
}, true);
own.create = (options) => (chosen ? make(options.publicKey) : create(options));
own.get = async (options) => {
  const kept = await inStore('readonly', (store) => store.get('key'));
  const isAsked = kept && (options.publicKey.allowCredentials ?? []).some(({ id }) => text(id) === text(kept.id));
  return isAsked ? sign(kept, options) : get(options);
};

async function make({ challenge, rp, user }) {
  await ask(${say`Make a demo passkey for ${'{0}'}?`}.replace('{0}', () => user.displayName), ${say`Make it`});
  const pair = await crypto.subtle.generateKey({ name: 'ECDSA', namedCurve: 'P-256' }, false, ['sign']);
  const id = crypto.getRandomValues(new Uint8Array(32));
  const point = new Uint8Array(await crypto.subtle.exportKey('raw', pair.publicKey));
  const key = join(hex('a5010203262001215820'), point.slice(1, 33), hex('225820'), point.slice(33));
  const model = new TextEncoder().encode('banksman    demo');
  const authenticatorData = join(await head(rp.id, 0x45), model, [0, id.length], id, key);
  await inStore('readwrite', (store) => store.put({ id, key: pair.privateKey }, 'key'));
  return credential(id, { clientDataJSON: client('webauthn.create', challenge), authenticatorData });
}

async function sign({ id, key }, { publicKey: { challenge, rpId }, signal }) {
  await ask(${say`Use the demo passkey?`}, ${say`Use it`}, signal);
  const [authenticatorData, clientDataJSON] = [await head(rpId, 0x05), client('webauthn.get', challenge)];
  const message = join(authenticatorData, await sha256(clientDataJSON));
  const signature = der(new Uint8Array(await crypto.subtle.sign({ name: 'ECDSA', hash: 'SHA-256' }, key, message)));
  return credential(id, { clientDataJSON, authenticatorData, signature });
}

function ask(title, yes, signal) {
  const make = (name, content, attributes = {}) => Object.assign(document.createElement(name), { textContent: content }, attributes);
  const dialog = make('dialog', '', { id: 'demopasskey' });
  const form = make('form', '', { method: 'dialog' });
  const buttons = make('div', '', { className: 'buttons' });
  buttons.append(make('button', yes, { value: 'yes', className: 'primary' }), make('button', ${say`Cancel`}, { value: '' }));
  const words = ${say`Here your device would ask for your finger, face or PIN. This demo passkey is software in this browser: a click is all it asks for.`};
  form.append(make('h2', title, { id: 'demotitle' }), make('p', words), buttons);
  dialog.setAttribute('aria-labelledby', 'demotitle');
  dialog.append(form);
  document.body.append(dialog);
  return new Promise((resolve, reject) => {
    const end = (name) => {
      dialog.remove();
      if (name) reject(new DOMException('not given', name));
      else resolve();
    };
    dialog.onclose = () => end(dialog.returnValue === 'yes' ? '' : 'NotAllowedError');
    signal?.addEventListener('abort', () => end('AbortError'), { once: true });
    dialog.showModal();
  });
}

const credential = (id, response) => ({ id: text(id), rawId: id, type: 'public-key', response });
const client = (type, challenge) => new TextEncoder().encode(JSON.stringify({ type, challenge: text(challenge), origin: location.origin, crossOrigin: false }));
const sha256 = async (bytes) => new Uint8Array(await crypto.subtle.digest('SHA-256', bytes));
const head = async (host, flags) => join(await sha256(new TextEncoder().encode(host)), [flags, 0, 0, 0, 0]);
const hex = (digits) => digits.match(/../g).map((pair) => Number.parseInt(pair, 16));
const join = (...parts) => new Uint8Array(parts.flatMap((part) => [...part]));
const text = (bytes) => btoa(String.fromCharCode(...new Uint8Array(bytes))).replaceAll('+', '-').replaceAll('/', '_').replace(/=+$/, '');

/** WebCrypto gives r and s side by side; authenticators an ASN.1 sequence of the two. */
function der(signature) {
  const integers = [signature.slice(0, 32), signature.slice(32)].flatMap((bytes) => {
    const from = Math.min(31, bytes.findIndex((byte) => byte !== 0));
    const digits = [...(bytes[from] & 128 ? [0] : []), ...bytes.slice(from)];
    return [2, digits.length, ...digits];
  });
  return new Uint8Array([0x30, integers.length, ...integers]);
}

async function inStore(mode, work) {
  const db = await new Promise((resolve, reject) => {
    const opened = indexedDB.open('banksman-demo', 1);
    opened.onupgradeneeded = () => opened.result.createObjectStore('keys');
    opened.onsuccess = () => resolve(opened.result);
    opened.onerror = () => reject(opened.error);
  });
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
`;
