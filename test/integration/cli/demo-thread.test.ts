/** The demo in a thread, as the editor starts it in one click. */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it } from 'vitest';
import { lookAtCertificate } from '#app/clusters/new-cluster';
import { startDemoThread } from '#app/demo-thread';
import { cli } from './support.ts';

interface DemoCluster {
  readonly name: string;
  readonly endpoints: readonly [string];
  readonly tokenFile: string;
}

it('runs as long as it is wanted, and leaves nothing behind', async () => {
  const demo = await startDemoThread(cli);
  const [{ name, endpoints, tokenFile }] = demo.config['clusters'] as unknown as readonly [DemoCluster];
  try {
    expect(name).toBe('demo');
    expect(demo.config['protected']).toMatchObject({ guests: [103] });
    await expect(lookAtCertificate(endpoints[0], AbortSignal.timeout(10_000))).resolves.toMatchObject({ isPublic: false });
    expect(existsSync(tokenFile)).toBe(true);
  } finally {
    await demo.stop();
  }
  await expect(lookAtCertificate(endpoints[0], AbortSignal.timeout(10_000))).rejects.toMatchObject({ code: 'unreachable' });
  expect(existsSync(path.dirname(tokenFile))).toBe(false);
});

it('that ends by itself is known to have ended, whatever it printed', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'banksman-demo-'));
  const program = path.join(folder, 'cli.cjs');
  const config = { clusters: [{ tokenFile: path.join(folder, 'token') }] };
  writeFileSync(
    program,
    `console.log(${JSON.stringify(JSON.stringify(config))}); setTimeout(() => { console.log('x'.repeat(1e6)); throw new Error('out of order'); }, 100);`,
  );
  const demo = await startDemoThread(program);
  expect(demo.config).toEqual(config);
  await demo.gone;
  expect(existsSync(folder)).toBe(false);
  await demo.stop();
});

it('says why it did not start', async () => {
  const folder = mkdtempSync(path.join(tmpdir(), 'demo-thread-'));
  const program = path.join(folder, 'cli.cjs');
  try {
    writeFileSync(program, 'process.stderr.write("banksman: out of order\\n"); process.exitCode = 1;');
    await expect(startDemoThread(program)).rejects.toMatchObject({
      code: 'demo_failed',
      message: expect.stringContaining('it ended with 1'),
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
});
