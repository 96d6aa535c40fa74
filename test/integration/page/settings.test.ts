/** What loosens, in a real Chromium: the level, rules, and what of the configuration waits. In embedded mode, where all files are the agents' own. */
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { parseConfig } from '#app/config/config';
import { createConfigAgreement } from '#app/config/config-agreement';
import { addApprover } from '#app/config/config-file';
import { generateApproverKey } from '#app/for-hosts';
import { type Device, openPageWorld, type PageWorld, settle } from './page-world.ts';

let world: PageWorld;
let alice: Device;
let browser: Device;
let configFile: string;
beforeAll(async () => {
  world = await openPageWorld({}, undefined, 'machine');
  configFile = join(world.world.stateDir, '..', 'config.json');
  alice = await world.enrolled('alice-phone');
  browser = await world.enrolled('alice-browser', {}, 'same-account');
});
afterAll(() => world.close());

const settings = () => world.app.passkeyDesk(world.page.origin).settings();

async function press(name: string | RegExp, device = alice): Promise<string> {
  await settle(device.tab);
  const said = device.tab.locator('#result');
  await device.tab.evaluate('document.getElementById("result").hidden = true');
  await device.tab.getByRole('button', { name }).click();
  await said.waitFor();
  return (await said.textContent()) ?? '';
}

describe('the settings that people share', () => {
  it('are set with a passkey: the level', async () => {
    await alice.open('/settings');
    expect(await press('Set to relaxed')).toContain('The security level is relaxed');
    await alice.tab.getByRole('heading', { name: 'Security level: relaxed' }).waitFor();
    expect(await world.app.security.level()).toMatchObject({ level: 'relaxed', by: 'user:alice-phone' });
  });

  it('and the rules, which end', async () => {
    await alice.open('/settings');
    await alice.tab.getByLabel('What it is for').fill('destination:registry.npmjs.org');
    expect(await press('Add the rule')).toContain('`destination:registry.npmjs.org`: allow until');
    await alice.tab.locator('.choices code', { hasText: 'registry.npmjs.org' }).waitFor();
    expect(await press('Remove')).toContain('is removed');
    expect(await world.app.security.rules()).toEqual([]);
  });

  it('stay as they are where the finger is the wrong one, and that is said', async () => {
    await alice.key.verifies(false);
    await alice.open('/settings');
    expect(await press('Set to balanced')).toContain('Nothing was sent');
    await alice.key.verifies(true);
    expect((await world.app.security.level()).level).toBe('relaxed');
  });

  it('no rule that is none', async () => {
    await alice.open('/settings');
    await alice.tab.getByLabel('What it is for').fill('tool:stop_vm');
    expect(await press('Add the rule')).toMatch(/nothing was set/);
  });
});

describe('the configuration', () => {
  it('is agreed to whole where nobody has, and then what waits of it is shown, and agreed to as shown', async () => {
    await alice.open('/settings');
    expect(await press('Agree to this')).toContain('Agreed');
    expect((await settings()).configuration).toEqual({ waiting: [], isNew: false });
    const mallory = generateApproverKey();
    await addApprover(configFile, { name: 'mallory', key: mallory.publicKey });
    expect(await world.app.approvals.isTrusted(mallory.publicKey)).toBe(false);
    await alice.open('/');
    await alice.tab.getByRole('link', { name: 'A change of the configuration waits' }).click();
    await alice.tab.locator('.waiting', { hasText: `one more approver: \`mallory\` (${mallory.publicKey})` }).waitFor();
    // Another one comes while she reads: what she saw is not what would be signed.
    const second = generateApproverKey();
    const tab = alice.tab;
    await tab.route('**/api/view', (route) => route.abort());
    await addApprover(configFile, { name: 'eve', key: second.publicKey });
    expect(await press('Agree to this')).toContain('changed while it was shown');
    await tab.unroute('**/api/view');
    await alice.open('/settings');
    expect(await tab.locator('.waiting li').count()).toBe(2);
    expect(await press('Agree to this')).toContain('Agreed');
    expect(await world.app.approvals.isTrusted(mallory.publicKey)).toBe(true);
  });

  it('is not agreed to on a display in the agents’ account, where there is one outside', async () => {
    await addApprover(configFile, { name: 'trent', key: generateApproverKey().publicKey });
    await browser.open('/settings');
    expect(await press('Agree to this', browser)).toContain('outside the agents’ account');
    expect((await settings()).configuration?.waiting).toHaveLength(1);
  });

  it('of the editor’s settings is agreed to here, too: until then the old values count there', async () => {
    const inEditor = async (changes: object) => {
      const config = { ...parseConfig({ ...world.world.demo.config, ...changes }, 'settings'), approvers: [] };
      return createConfigAgreement({ config, configFile, origin: 'editor' });
    };
    const first = { protected: { guests: [100] } };
    expect((await settings()).configuration?.isNew).toBe(false);
    await inEditor(first);
    // An editor that nobody agreed to anything of.
    expect((await settings()).configuration?.isNew).toBe(true);
    await alice.open('/settings');
    expect(await press('Agree to this')).toContain('Agreed');
    expect((await settings()).configuration?.isNew).toBe(false);
    const looser = {
      protected: { guests: [] },
      clusters: [{ ...world.world.demo.config.clusters[0], endpoints: ['https://10.0.0.66:8006'] }],
    };
    const held = await inEditor(looser);
    expect(held.config.protected.guests).toEqual([100]);
    await alice.open('/settings');
    const waiting = await alice.tab.locator('.waiting').innerText();
    expect(waiting).toContain('in the editor’s settings: no longer protected: guests 100');
    expect(waiting).toContain('https://10.0.0.66:8006');
    expect(await press('Agree to this')).toContain('Agreed');
    expect((await inEditor(looser)).config).toMatchObject(looser);
  });
});
