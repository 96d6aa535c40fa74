import { readFileSync } from 'node:fs';
import path from 'node:path';
import type { JsonObject } from '#kernel/json';
import type { Workbench } from './launch-workbench.ts';

const PAUSE_MS = 50;
const TRIES = 200;

export function machineSettingsFile({ editor }: Pick<Workbench, 'editor'>): string {
  return path.join(editor.profile.data, 'Machine', 'settings.json');
}

/** The editor writes its settings in place: what is read in the middle of that is read again. */
export function machineSettings(bench: Pick<Workbench, 'editor'>): JsonObject {
  const pause = new Int32Array(new SharedArrayBuffer(4));
  for (let left = TRIES; ; left -= 1) {
    const text = readFileSync(machineSettingsFile(bench), 'utf8');
    try {
      return JSON.parse(text) as JsonObject;
    } catch (thrown) {
      if (left === 0) throw new Error(`the editor's settings are not JSON: ${text.slice(-200)}`, { cause: thrown });
      Atomics.wait(pause, 0, 0, PAUSE_MS);
    }
  }
}
