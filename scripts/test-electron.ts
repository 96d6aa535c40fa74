/**
 * `npm run test:electron [-- VERSION]`: the in-host suite on a VS Code that is downloaded for it (`stable` unless named: `1.125.0`,
 * `insiders`). Needs the internet, and a display: `xvfb-run -a npm run test:electron` where there is none.
 * BANKSMAN_VSCODE names an installed editor instead of a download. Exit 1 when the suite fails.
 */
import { spawnSync } from 'node:child_process';
import { existsSync, mkdtempSync, rmSync } from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import { runTests } from '@vscode/test-electron';
import { build } from 'esbuild';
import { demoSettings, startDemoProcess } from './bench/demo-process.ts';
import { createProfile, writeSettings } from './bench/editor-profile.ts';
import { cacheFolder, ROOT } from './lib/cache-folder.mjs';

const suite = path.join(ROOT, 'test', 'editor', 'in-host', 'suite.ts');
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
  writeSettings(profile, settings, {});
  const { BANKSMAN_VSCODE: installed } = process.env;
  const [version = 'stable'] = process.argv.slice(2);
  try {
    return await runTests({
      ...(installed === undefined ? { version, cachePath: path.join(cacheFolder(), 'vscode-test') } : { vscodeExecutablePath: installed }),
      extensionDevelopmentPath: ROOT,
      extensionTestsPath: await bundleSuite(),
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
    console.error(`test:electron: ${error instanceof Error ? error.message : String(error)}`);
    return 1;
  }
}

/** The editor's host loads CommonJS. */
async function bundleSuite(): Promise<string> {
  if (!existsSync(suite)) throw new Error(`there is no suite at ${path.relative(ROOT, suite)}`);
  const outfile = path.join(place, 'suite.cjs');
  await build({
    entryPoints: [suite],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'cjs',
    target: 'node24',
    external: ['vscode'],
    sourcemap: 'inline',
  });
  return outfile;
}

/** Chromium's sandbox refuses to run as root. */
function asRoot(): readonly string[] {
  return process.getuid?.() === 0 ? ['--no-sandbox'] : [];
}
