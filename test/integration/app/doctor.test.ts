/** What `doctor` finds on a real (demo) cluster. */
import { afterEach, beforeEach, expect, it } from 'vitest';
import { startWorld, type World } from './support.ts';

let world: World;
beforeEach(async () => {
  world = await startWorld();
});
afterEach(async () => {
  await world.close();
});

const never = new AbortController().signal;

it('warns about protection that protects nothing, and tiers without effect', async () => {
  const app = await world.open({
    protected: { nodes: ['agent1', 'gone'], guests: [103, 555] },
    tiers: { stop_vm: 'green', restart_service: 'red' },
  });
  const warnings = (await app.doctor(never)).filter((finding) => finding.state === 'warning').map((finding) => finding.message);
  expect(warnings).toEqual(
    expect.arrayContaining([
      expect.stringMatching(/guest 555 is protected, but no cluster shows it/),
      expect.stringMatching(/node `gone` is protected, but no cluster shows it/),
      expect.stringMatching(/`tiers\.stop_vm` has no effect.*red already/),
    ]),
  );
  expect(warnings.join('\n')).not.toMatch(/guest 103|agent1|restart_service/);
});

it('says which cluster does not answer, and keeps on looking at the rest', async () => {
  const app = await world.open();
  for (const node of ['Home', 'pve', 'agent1']) await world.demo.faults.nodeDown(node);
  const findings = await app.doctor(never);
  expect(findings.find((finding) => finding.topic === 'cluster demo')).toMatchObject({
    state: 'failed',
    message: expect.stringMatching(/^pve_unreachable/),
  });
  expect(findings.find((finding) => finding.topic === 'store')).toMatchObject({ state: 'ok' });
});
