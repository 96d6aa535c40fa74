import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import { ROOT } from '../../../scripts/lib/cache-folder.mjs';
import { saveArtifact } from './screenshot.ts';
import { waitUntil } from './wait-until.ts';

/** The folder of the hostile test extension. */
export const HOSTILE_EXTENSION = path.join(ROOT, 'test', 'editor', 'hostile-extension');

export type Attack =
  | 'takeService'
  | 'acceptCard'
  | 'decoy'
  | 'pressEverything'
  | 'ownCommands'
  | 'planCommands'
  | 'callExports'
  | 'loosenSettings'
  | 'invokeTool';

/** Lets the hostile extension loose in the workspace `folder`; resolves with what it wrote down. */
export async function attack(folder: string, name: Attack, requestId = ''): Promise<string[]> {
  writeFileSync(path.join(folder, 'attack.json'), JSON.stringify({ name, requestId }));
  const report = path.join(folder, `report-${name}.json`);
  await waitUntil(`the end of the attack ${name}`, () => existsSync(report), 420_000);
  const lines = JSON.parse(readFileSync(report, 'utf8')) as string[];
  saveArtifact(`attack-${name}.txt`, lines.join('\n'));
  return lines;
}
