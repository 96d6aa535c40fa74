import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, mkdtempSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { onStampChange, removeDeadSockets, stampOf, windowSocket, windowSockets } from '#hosts/hook/places';

it('tells of a configuration that is written, changed or taken away, once each time', () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'hook-places-'));
  const config = path.join(folder, 'config.json');
  let changes = 0;
  const look = onStampChange(
    () => stampOf({ config }),
    () => {
      changes += 1;
    },
  );
  try {
    const seen = [
      () => undefined,
      () => writeFileSync(config, '{}'),
      () => writeFileSync(config, '{"hooks":{}}'),
      () => rmSync(config),
    ].map((act) => {
      act();
      look();
      look();
      return changes;
    });
    expect(seen).toEqual([0, 1, 2, 3]);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});

describe.skipIf(process.platform === 'win32')('sockets', () => {
  let state: string;
  beforeEach(() => {
    // Short: the path of a socket has some hundred bytes.
    state = mkdtempSync(path.join(tmpdir(), 'hp-'));
  });
  afterEach(() => rmSync(state, { recursive: true, force: true }));

  it('of windows are found however the folder is written', () => {
    const [real, link] = ['folder', 'link'].map((name) => path.join(state, name)) as [string, string];
    mkdirSync(real);
    symlinkSync(real, link);
    const socket = windowSocket(link, state);
    writeFileSync(socket, '');
    for (const written of [real, link, `${link}/`, path.join(link, '..', 'folder', '.')])
      expect(windowSockets(written, { state }), written).toEqual([socket]);
    expect(windowSockets(path.join(state, 'other'), { state })).toEqual([]);
  });

  const folderOf = () => path.dirname(windowSocket(state, state));

  /** Of a process that listened there and ended by a crash: the socket stays. */
  async function crashed(name: string): Promise<string> {
    const script = `const at = process.argv[1].replaceAll('%PID%', process.pid);
      require('node:net').createServer().listen(at, () => process.stdout.write(at))`;
    const child = spawn(process.execPath, ['-e', script, path.join(folderOf(), name)], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [at] = (await once(child.stdout, 'data')) as [Buffer];
    const over = once(child, 'exit');
    child.kill('SIGKILL');
    await over;
    return String(at);
  }

  it('go where their process crashed, with what it said, and no others', async () => {
    const own = windowSocket(state, state);
    const folder = folderOf();
    const key = path.basename(own).slice(0, 'w'.length + 20);
    const dead = await crashed(`${key}-%PID%.sock`);
    const half = await crashed(`${key}-%PID%.sock.%PID%`);
    const warm = await crashed(`${key.slice(1)}.sock`);
    const halfWarm = await crashed(`${key.slice(1)}.sock.%PID%`);
    const said = `${warm}.log`;
    writeFileSync(said, 'its last words');
    // Others than those of ours.
    const unknown = await crashed('x.sock');
    const heardWarm = path.join(folder, `${'0'.repeat(20)}.sock`);
    const listeningWarm = createServer((peer) => peer.end()).listen(heardWarm);
    await once(listeningWarm, 'listening');
    writeFileSync(`${heardWarm}.log`, '');
    // Of one that is being started.
    const starting = path.join(folder, `${'1'.repeat(20)}.sock`);
    mkdirSync(`${starting}.starting`);
    writeFileSync(`${starting}.log`, '');
    // Of another PID namespace: its process looks gone from here.
    const heard = path.join(folder, `${key}-4194999.sock`);
    const listening = createServer((peer) => peer.end()).listen(heard);
    await once(listening, 'listening');
    // Of this process, which has not come to listen.
    renameSync(await crashed('x%PID%.sock'), own);
    const [noSocket, link] = [`${key}-4194998.sock`, `${key}-4194997.sock`].map((name) => path.join(folder, name)) as [string, string];
    writeFileSync(noSocket, 'mine');
    symlinkSync(unknown, link);
    await Promise.all([removeDeadSockets(state), removeDeadSockets(state)]);
    expect([dead, half, warm, halfWarm, said].filter((file) => existsSync(file))).toEqual([]);
    const kept = [unknown, heard, heardWarm, `${heardWarm}.log`, `${starting}.log`, own, noSocket, link];
    expect(kept.filter((file) => !existsSync(file))).toEqual([]);
    listening.close();
    listeningWarm.close();
  });
});
