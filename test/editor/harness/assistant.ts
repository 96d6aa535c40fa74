import { readFileSync } from 'node:fs';
import type { Locator } from 'playwright-core';
import type { JsonObject } from '#kernel/json';
import type { Workbench } from './launch-workbench.ts';
import { type Modal, waitModal } from './modal.ts';
import { pickRow, runCommand, typeInto } from './palette.ts';

/** A step of *Connect a Cluster…*: its box, once it shows `text`. */
export async function waitStep({ page }: Workbench, text: string): Promise<Locator> {
  // A list says it in its input, where nothing is typed.
  const list = page.locator(`.quick-input-widget:visible:has(input[placeholder*="${text}"])`);
  const box = page.locator('.quick-input-widget:visible', { hasText: text }).or(list);
  await box.waitFor({ timeout: 60_000 });
  return box;
}

/** Types what the step that shows `text` asks for, and goes on. */
export async function answerStep(bench: Workbench, text: string, typed: string): Promise<void> {
  await waitStep(bench, text);
  await typeInto(bench.page, typed, text);
  await bench.page.keyboard.press('Enter');
}

/** The arrow that goes one step back. */
export async function goBack({ page }: Workbench): Promise<void> {
  await page.locator('.quick-input-widget:visible .quick-input-titlebar .action-label').first().click();
}

/** What the demo's own configuration knows: what a newcomer brings along. */
export function demoFacts({ demo }: Workbench) {
  const [cluster] = demo.config['clusters'] as readonly [
    JsonObject & { readonly tokenFile: string; readonly endpoints: readonly string[]; readonly tokenId: string },
  ];
  return { ...cluster, hosts: cluster.endpoints.map((url) => new URL(url).host), secret: readFileSync(cluster.tokenFile, 'utf8').trim() };
}

/** Up to the question about certificates. */
export async function startConnecting(bench: Workbench, hosts: readonly string[]): Promise<Modal> {
  await runCommand(bench.page, 'Banksman: Connect a Cluster');
  await answerStep(bench, 'Address of a node', hosts.join(', '));
  return waitModal(bench.page, 'from now on?');
}

/** All of it, ssh left out and every proposal taken; `look` is called at each step. Ends on the page of Doctor. */
export async function connectDemo(bench: Workbench, look: (step: string) => Promise<void> = async () => undefined): Promise<void> {
  const { hosts, tokenId, secret } = demoFacts(bench);
  const modal = await startConnecting(bench, hosts);
  await look('certificates');
  await modal.click('Trust and Go On');
  await waitStep(bench, 'Id of an API token');
  await look('token');
  await answerStep(bench, 'Id of an API token', tokenId);
  await typeInto(bench.page, secret, 'Secret of');
  await look('secret');
  await bench.page.keyboard.press('Enter');
  await waitStep(bench, 'What the token may do');
  await look('rights');
  await pickRow(bench.page, 'Go On');
  await waitStep(bench, 'by ssh');
  await look('ssh');
  await pickRow(bench.page, 'Leave ssh Out');
  await waitStep(bench, 'Agents should probably not touch these');
  await look('protection');
  await bench.page.locator('.quick-input-widget:visible .monaco-button', { hasText: 'OK' }).click();
  await bench.page.locator('.tab', { hasText: 'Banksman Doctor' }).first().waitFor({ timeout: 60_000 });
}
