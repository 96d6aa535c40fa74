/** Tools beyond those that the editor offers by themselves: an agent looks one up and calls it through `more_tools`, with the tool's own question. */
import { describe, expect, it } from 'vitest';
import packageJson from '../../../../package.json' with { type: 'json' };
import { sendPrompt } from '../../harness/chat.ts';
import { callFromCommandLine } from '../../harness/command-line.ts';
import { approveInModal, hasModal, waitModal } from '../../harness/modal.ts';
import { screenshot } from '../../harness/screenshot.ts';
import { toolResults, waitForToolResult } from '../../harness/tool-results.ts';
import { bench } from './window.ts';

async function ask(input: object): Promise<number> {
  const next = toolResults(bench.model).length + 1;
  await sendPrompt(bench.page, `call ${JSON.stringify(input)}`);
  return next;
}

export function offerMoreTools(): void {
  describe('an agent with more tools than the editor offers by themselves', () => {
    it('is offered the one that holds the rest, and none of the rest', async () => {
      const count = await ask({ tool: 'set_tags' });
      const result = await waitForToolResult(bench.model, count);
      expect(result).toContain('set_tags: ');
      expect(result).toContain('"vmid"');
      expect(await hasModal(bench.page, 'tags')).toBe(false);
      const offered = bench.model.requests.findLast(({ tools }) => tools.length > 0)?.tools.map(({ name }) => name) ?? [];
      const declared = packageJson.contributes.languageModelTools.map(({ name }) => name);
      expect(declared.length).toBeLessThanOrEqual(48);
      expect(offered).toContain('banksman_more_tools');
      expect(offered).not.toContain('banksman_set_tags');
    });

    it('reads by it without a question', async () => {
      const count = await ask({ tool: 'get_permissions', arguments: {} });
      expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
    });

    it('changes by it what a person approved in the tool’s own dialog', async () => {
      const count = await ask({ tool: 'set_tags', arguments: { vmid: 101, tags: ['reviewed'] } });
      const modal = await waitModal(bench.page, 'VM 101');
      expect(modal.detail).toContain('set_tags');
      await screenshot(bench.page, 'q7-more-tools');
      await approveInModal(bench.page, modal);
      expect(await waitForToolResult(bench.model, count)).toContain('"status":"ok"');
      const guest = await callFromCommandLine(bench, 'get_guest', { vmid: 101 });
      expect(JSON.stringify(guest)).toContain('reviewed');
    });

    // The editor holds it to its schema before we see it.
    it('gets no tool by it that has a name of its own, nor one that is none', async () => {
      for (const tool of ['stop_vm', 'apply_plan', 'toString']) {
        const count = await ask({ tool, arguments: { vmid: 100 } });
        expect(await waitForToolResult(bench.model, count)).toMatch(/must be (?:equal to )?one of/);
      }
      expect(await hasModal(bench.page, 'Stop VM 100')).toBe(false);
    });
  });
}
