/** The catalog as language-model tools of the editor. */
import {
  type CancellationToken,
  type Disposable,
  LanguageModelTextPart,
  type LanguageModelTool,
  type LanguageModelToolInvocationOptions,
  LanguageModelToolResult,
  lm,
  MarkdownString,
  type PreparedToolInvocation,
} from 'vscode';
import { fromDrawer, moreTools } from '#app/short-list';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from '../contributes/names.ts';
import { t, titleOf } from '../l10n.ts';
import { describeTools, toolNamed } from '../load-parts.ts';
import { escapeMarkdown } from '../markdown.ts';
import { abortOnCancel } from './call-progress.ts';
import { chatCaller, resultText } from './chat-words.ts';
import { runTool, type ToolRunner } from './run-tool.ts';

/**
 * Registers the tools under their names in the manifest, and one for those that are needed less often. Which tool a name means is looked up when it is
 * called: the catalog is loaded after the window has started.
 */
export function registerLanguageModelTools(names: readonly string[], runner: ToolRunner): Disposable[] {
  const drawerName = languageModelName(moreTools);
  return names.map((name) => lm.registerTool(name, name === drawerName ? drawer(runner) : languageModelTool(name, runner)));
}

/** Calls the tool that it names, as if that had been called: the same stages, the same question, the same record. */
function drawer(runner: ToolRunner): LanguageModelTool<unknown> {
  const askedFor = async (input: unknown) => fromDrawer(input, { inside: (await describeTools()).filter((tool) => tool.rare === true) });
  return {
    prepareInvocation: async ({ input }) => {
      const asked = await askedFor(input);
      return 'run' in asked ? prepare(asked.run, asked.input, runner) : { invocationMessage: t('Look up a Banksman tool') };
    },
    invoke: async (options, token) => {
      const asked = await askedFor(options.input);
      return 'run' in asked ? invoke(asked.run, { ...options, input: asked.input }, { runner, token }) : textResult(asked.outcome);
    },
  };
}

function languageModelTool(name: string, runner: ToolRunner): LanguageModelTool<unknown> {
  const tool = () => toolNamed((entry) => languageModelName(entry.name) === name);
  return {
    prepareInvocation: async ({ input }) => prepare(await tool(), input, runner),
    invoke: async (options, token) => invoke(await tool(), options, { runner, token }),
  };
}

/** Says what is about to happen, and asks nothing: a call has one prompt, our own dialog, or none (docs/adr/0006-modal-gate.md). */
async function prepare(tool: ToolDescription, input: unknown, runner: ToolRunner): Promise<PreparedToolInvocation> {
  const said = await runner.session.use((app) => Promise.resolve(app.announce(tool.name, input))).catch(() => undefined);
  const title = showPlainly(said?.title ?? titleOf(tool), 200);
  return { invocationMessage: new MarkdownString(escapeMarkdown(title)) };
}

/** Refusals are returned, not thrown: the editor adds “check your input and try again” to whatever is thrown. */
async function invoke(
  tool: ToolDescription,
  options: LanguageModelToolInvocationOptions<unknown>,
  { runner, token }: { readonly runner: ToolRunner; readonly token: CancellationToken },
): Promise<LanguageModelToolResult> {
  const outcome = await runTool(runner, {
    tool,
    input: options.input,
    agent: (tier) => chatCaller(options.toolInvocationToken, tier),
    call: abortOnCancel(token),
  });
  return textResult(outcome);
}

function textResult(outcome: Outcome): LanguageModelToolResult {
  const { summary, json } = resultText(outcome);
  // Text only: JSON data parts never reach the model.
  return new LanguageModelToolResult([new LanguageModelTextPart(summary), new LanguageModelTextPart(json)]);
}
