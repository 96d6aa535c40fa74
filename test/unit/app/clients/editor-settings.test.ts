/** What a window tells the servers that it starts: in its order, once a ticket, and nothing any more when it has gone. */
import { once } from 'node:events';
import { connect } from 'node:net';
import { expect, it, onTestFinished, vi } from 'vitest';
import { type EditorSettings, hearEditorSettings, offerEditorSettings } from '#app/clients/editor-settings';

function openWindow(read: (look: number) => Promise<EditorSettings>) {
  const errors: unknown[] = [];
  let looks = 0;
  const offer = offerEditorSettings(
    () => read(looks++),
    (error) => void errors.push(error),
  );
  onTestFinished(() => offer.dispose());
  return { offer, errors };
}

const settings = (number: number): EditorSettings => ({ settings: { number }, tokens: {} });

it('tells what holds last at last, however long a look takes', async () => {
  const gates = [0, 1, 2].map(() => Promise.withResolvers<void>());
  const { offer } = openWindow(async (look) => {
    await gates[look]?.promise;
    return settings(look);
  });
  gates[0]?.resolve();
  const link = await hearEditorSettings(await offer.ticket());
  onTestFinished(() => link.close());
  const heard: unknown[] = [];
  link.onChange(() => heard.push(link.now().settings['number']));
  offer.changed();
  offer.changed();
  gates[2]?.resolve();
  // The second look, where it does not wait for the first, is over by then.
  await new Promise((resolve) => setImmediate(resolve));
  gates[1]?.resolve();
  await vi.waitFor(() => expect(heard).toHaveLength(2), { timeout: 20_000 });
  expect(heard).toEqual([1, 2]);
});

it('goes on after a look that failed, and servers keep what they have', async () => {
  const { offer, errors } = openWindow(async (look) => {
    if (look === 1) throw new Error('settings are being written');
    return settings(look);
  });
  const link = await hearEditorSettings(await offer.ticket());
  onTestFinished(() => link.close());
  offer.changed();
  await vi.waitFor(() => expect(errors).toEqual([new Error('settings are being written')]));
  expect(link.now()).toEqual(settings(0));
  offer.changed();
  await vi.waitFor(() => expect(link.now()).toEqual(settings(2)), { timeout: 20_000 });
});

it('takes a ticket once, and turns away whoever comes when nothing can be read', async () => {
  const { offer } = openWindow(async (look) => {
    if (look > 0) throw new Error('no settings');
    return settings(look);
  });
  const ticket = await offer.ticket();
  const link = await hearEditorSettings(ticket);
  onTestFinished(() => link.close());
  await expect(hearEditorSettings(ticket)).rejects.toMatchObject({ code: 'no_editor' });
  await expect(hearEditorSettings(await offer.ticket())).rejects.toMatchObject({ code: 'no_editor' });
});

it('takes no ticket that nobody showed for a minute', async () => {
  const { offer } = openWindow(async (look) => settings(look));
  const [late, good] = [await offer.ticket(), await offer.ticket()];
  (await hearEditorSettings(good)).close();
  const now = performance.now();
  const clock = vi.spyOn(performance, 'now').mockImplementation(() => now + 60_000);
  onTestFinished(() => clock.mockRestore());
  await expect(hearEditorSettings(late)).rejects.toMatchObject({ code: 'no_editor' });
  (await hearEditorSettings(await offer.ticket())).close();
});

it('tells nothing any more when the window has gone, not even for a ticket that it gave out', async () => {
  const { offer } = openWindow(async (look) => settings(look));
  const [ticket = '', address = ''] = (await offer.ticket()).split('@');
  const link = await hearEditorSettings(await offer.ticket());
  onTestFinished(() => link.close());
  const early = connect(address);
  const closed = new Promise((resolve) => early.once('close', resolve));
  let heard = '';
  early.on('error', () => undefined).on('data', (part) => (heard += part.toString()));
  await once(early, 'connect');
  // Both ends know of each other: the window answers who comes later first.
  await expect(hearEditorSettings(`${'0'.repeat(64)}@${address}`)).rejects.toMatchObject({ code: 'no_editor' });
  offer.dispose();
  early.write(`${ticket}\n`);
  await closed;
  expect(heard).toBe('');
});
