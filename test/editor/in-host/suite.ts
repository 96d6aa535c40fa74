// The entry that the editor loads inside its extension host (`extensionTestsPath`); bundled by bundle-in-host.ts.
import * as vscode from 'vscode';
import { cases } from './cases.ts';
import { type InHost, type InHostResult, RESULT_PREFIX, type Seam, SUITE_VARIABLE } from './in-host-case.ts';
import { untrustedCases } from './untrusted-cases.ts';

/** Runs every case, tells each result, and rejects when one failed. */
export async function run(): Promise<void> {
  const host = await startHost();
  const chosen = process.env[SUITE_VARIABLE] === 'untrusted' ? untrustedCases : cases;
  let failed = 0;
  for (const item of chosen) {
    const result = await runCase(item.name, () => item.run(host));
    if (result.error !== undefined) failed += 1;
    console.log(`${RESULT_PREFIX}${JSON.stringify(result)}`);
  }
  if (failed > 0) throw new Error(`${failed} of ${chosen.length} cases failed`);
}

async function startHost(): Promise<InHost> {
  const extension = vscode.extensions.getExtension<Seam | undefined>('banksman.banksman');
  if (!extension) throw new Error('the extension banksman.banksman is not loaded');
  const seam = await extension.activate();
  if (!seam) throw new Error('the extension gave no test seam: is it the test bundle, and in ExtensionMode.Test?');
  return { api: vscode, extension, seam };
}

async function runCase(name: string, work: () => Promise<void>): Promise<InHostResult> {
  try {
    await work();
    return { name };
  } catch (error) {
    return { name, error: error instanceof Error ? (error.stack ?? error.message) : String(error) };
  }
}
