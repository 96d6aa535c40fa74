import { launchWorkbench, type Workbench } from '../../harness/launch-workbench.ts';

/** The one editor of all parts: starting it takes as long as most of them. */
export let bench: Workbench;

export async function openTheWindow(): Promise<void> {
  bench = await launchWorkbench({
    // Whatever stands after `call` in the prompt is what the model sends.
    script: ({ tools, messages }) => {
      if (tools.length === 0) return { text: 'x' };
      const last = messages.at(-1);
      if (last?.role === 'tool') return { text: 'that is what it said' };
      const asked = messages.findLast(({ role }) => role === 'user')?.content ?? '';
      const args = [...asked.matchAll(/call (\{.*\})/g)].at(-1)?.[1];
      return args === undefined
        ? { text: 'nothing to call' }
        : { tool: 'banksman_more_tools', args: JSON.parse(args) as Record<string, unknown> };
    },
  });
}
