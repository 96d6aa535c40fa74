/**
 * `npm run test:electron [-- VERSION]`: the in-host suite on a VS Code that is downloaded for it (`stable` unless named: `1.125.0`,
 * `insiders`). Needs the internet, and a display: `xvfb-run -a npm run test:electron` where there is none.
 * BANKSMAN_VSCODE names an installed editor instead of a download. Exit 1 when the suite fails.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runTests } from '@vscode/test-electron';
import { bundleInHost } from '../test/editor/in-host/bundle-in-host.ts';
import { demoSettings, startDemoProcess } from './bench/demo-process.ts';
import { createProfile, writeSettings } from './bench/editor-profile.ts';
import { cacheFolder, ROOT } from './lib/cache-folder.mjs';

const place = mkdtempSync(path.join(os.tmpdir(), 'banksman-electron-'));

try {
  process.exitCode = await main();
} finally {
  rmSync(place, { recursive: true, force: true, maxRetries: 5 });
}

async function main(): Promise<number> {
  if (process.platform === 'linux' && !process.env.DISPLAY && !process.env.WAYLAND_DISPLAY) {
    console.error('test:electron: no display; run `xvfb-run -a npm run test:electron`');
    return 1;
  }
  const built = spawnSync(process.execPath, [path.join(ROOT, 'esbuild.mjs')], { cwd: ROOT, stdio: 'inherit' });
  if (built.status !== 0) return 1;
  const demo = await startDemoProcess({ XDG_STATE_HOME: path.join(place, 'state'), XDG_CONFIG_HOME: path.join(place, 'config') });
  try {
    return await runSuite(demoSettings(demo.config));
  } finally {
    await demo.stop();
  }
}

async function runSuite(settings: Readonly<Record<string, unknown>>): Promise<number> {
  const profile = createProfile(path.join(place, 'profile'));
  // On the desktop, settings of scope `machine` are read from the user's own file.
  writeSettings(profile, { ...settings, 'banksman.approvalWait': { editor: 3000 } }, {});
  const { BANKSMAN_VSCODE: installed } = process.env;
  const [version = 'stable'] = process.argv.slice(2);
  const { extensionPath, testsPath } = await bundleInHost();
  try {
    return await runTests({
      ...(installed === undefined ? { version, cachePath: path.join(cacheFolder(), 'vscode-test') } : { vscodeExecutablePath: installed }),
      extensionDevelopmentPath: extensionPath,
      extensionTestsPath: testsPath,
      extensionTestsEnv: { XDG_STATE_HOME: path.join(place, 'state'), XDG_CONFIG_HOME: path.join(place, 'config') },
      launchArgs: [
        place,
        '--disable-workspace-trust',
        '--user-data-dir',
        profile.data,
        '--extensions-dir',
        profile.extensions,
        ...asRoot(),
      ],
    });
  } catch (error) {
    console.error(`test:electron: ${explain(error)}`);
    return 1;
  }
}

/** What a failed run means for whoever reads it; a machine without the internet is the usual reason. */
function explain(error: unknown): string {
  const message = error instanceof Error ? error.message : String(error);
  const offline = /ENOTFOUND|EAI_AGAIN|ECONNREFUSED|ETIMEDOUT|ENETUNREACH|getaddrinfo|timed? ?out|fetch failed|socket hang up/i.test(
    message,
  );
  const remedy = 'VS Code could not be downloaded; run this where there is internet, or name an installed editor in BANKSMAN_VSCODE';
  return offline && process.env.BANKSMAN_VSCODE === undefined ? `${remedy} (${message})` : message;
}

/** Chromium's sandbox refuses to run as root. */
function asRoot(): readonly string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}
