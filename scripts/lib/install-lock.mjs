// Plain JavaScript for Node 20: this runs before the first `npm ci`.
import { closeSync, mkdirSync, openSync, readFileSync, rmSync, statSync, writeSync } from 'node:fs';
import path from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { say } from './run-command.mjs';

const EMPTY_LOCK_MS = 10_000;

/**
 * Runs `work` while holding `file`, so that `npm start` and `npm test` started together install once.
 * A lock whose process is gone is taken over.
 * @template T
 * @param {string} file
 * @param {() => Promise<T>} work
 * @returns {Promise<T>}
 */
export async function withInstallLock(file, work) {
  mkdirSync(path.dirname(file), { recursive: true });
  let told = false;
  while (!tryLock(file)) {
    if (!told) say(`Another install is running (${file}); waiting for it.`);
    told = true;
    await sleep(500);
  }
  try {
    return await work();
  } finally {
    rmSync(file, { force: true });
  }
}

function tryLock(file) {
  try {
    const handle = openSync(file, 'wx');
    writeSync(handle, String(process.pid));
    closeSync(handle);
    return true;
  } catch (error) {
    if (error.code !== 'EEXIST') throw error;
    if (isAbandoned(file)) rmSync(file, { force: true });
    return false;
  }
}

function isAbandoned(file) {
  try {
    const owner = Number(readFileSync(file, 'utf8'));
    // Empty: its owner is between creating and writing it, or died right there.
    if (!owner) return Date.now() - statSync(file).mtimeMs > EMPTY_LOCK_MS;
    return !isAlive(owner);
  } catch {
    return false;
  }
}

function isAlive(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch (error) {
    return error.code === 'EPERM';
  }
}
