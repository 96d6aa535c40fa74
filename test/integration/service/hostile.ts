/** Programs of the agents' account: what they open, send and write is done as that user of the operating system, in a process of theirs. */
import { join } from 'node:path';
import { wireProtocol } from '#kernel/wire';
import type { Machine } from './os-users.ts';

/** A client of one's own making, which says whatever it likes. Spoken by the programs below, so it imports nothing of ours. */
const prelude = `
const fs = require('node:fs'), net = require('node:net'), os = require('node:os'), path = require('node:path'), crypto = require('node:crypto');
const { execFileSync, spawnSync } = require('node:child_process');
const me = os.userInfo().username;
const socketOf = (user) => path.join(process.env.BANKSMAN_SERVICE, user + '.sock');
async function connect({ user = me, hello = { kind: 'hello', protocol: ${wireProtocol}, version: 'own' } } = {}) {
  const socket = net.connect(socketOf(user));
  const messages = [], waiting = new Set();
  let rest = '', id = 0;
  socket.on('data', (chunk) => {
    const lines = (rest + chunk).split('\\n');
    rest = lines.pop();
    for (const line of lines) messages.push(JSON.parse(line));
    for (const look of waiting) look();
  });
  const ended = new Promise((resolve) => socket.once('close', () => { for (const look of waiting) look(); resolve('ended'); }));
  socket.on('error', () => undefined);
  const until = (fits) => new Promise((resolve) => {
    const look = () => {
      const found = messages.find(fits);
      if (found === undefined && !socket.closed) return;
      waiting.delete(look);
      resolve(found ?? { kind: 'ended' });
    };
    waiting.add(look);
    look();
  });
  const send = (message) => void socket.write(JSON.stringify(message) + '\\n');
  const ask = (method, ...values) => {
    const mine = ++id;
    send({ kind: 'call', id: mine, method, values });
    return until((one) => (one.kind === 'answer' || one.kind === 'refusal') && one.id === mine);
  };
  const call = async (tool, input = {}, more = {}) => {
    const agent = { id: 'cli:' + me, host: 'cli', modelTier: 'advanced' };
    return (await ask('call', { tool, input, agent, waitMs: 0, ...more })).value;
  };
  const link = { socket, messages, ended, until, send, ask, call, close: () => socket.destroy() };
  if (hello === undefined) return link;
  send(hello);
  await until(({ kind }) => kind === 'welcome' || kind === 'refusal');
  return link;
}
/** What an attempt came to: its answer, or the operating system's word. */
const tried = async (work) => { try { return await work(); } catch (error) { return error.code ?? String(error); } };
`;

/** Runs the body of an async function as this user; comes back with what it returns. */
export async function programOf<T>(machine: Machine, user: string, body: string, args: object = {}): Promise<T> {
  const program = `${prelude}\n(async (args) => { ${body} })(${JSON.stringify(args)}).then(
    (value) => { process.stdout.write(JSON.stringify(value ?? null)); process.exit(0); },
    (error) => { console.error(error); process.exit(1); });`;
  const { status, out, err } = await machine.run(user, [join(machine.folder, 'lib/node'), '-e', program]);
  if (status !== 0) throw new Error(`the program ended with ${status}: ${err}`);
  return JSON.parse(out) as T;
}
