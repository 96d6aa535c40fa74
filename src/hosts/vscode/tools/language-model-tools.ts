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
import { fromDrawer, moreTools } from '#app/drawer';
import type { Outcome } from '#kernel/outcome';
import { showPlainly } from '#kernel/text/text';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from '../contributes/names.ts';
import { t, titleOf } from '../l10n.ts';
import { escapeMarkdown } from '../markdown.ts';
import { abortOnCancel } from './call-progress.ts';
import { chatCaller, resultText } from './chat-words.ts';
import { runTool, type ToolRunner } from './run-tool.ts';

/** Registers the tools of the catalog under their prefixed names, and one for those that are needed less often. */
export function registerLanguageModelTools(tools: readonly ToolDescription[], runner: ToolRunner): Disposable[] {
  const rare = tools.filter((tool) => tool.rare === true);
  const offered = tools.filter((tool) => tool.rare !== true);
  return [
    ...offered.map((tool) => lm.registerTool(languageModelName(tool.name), languageModelTool(tool, runner))),
    ...(rare.length === 0 ? [] : [lm.registerTool(languageModelName(moreTools), drawer(rare, runner))]),
  ];
}

/** Calls the tool that it names, as if that had been called: the same stages, the same question, the same record. */
function drawer(rare: readonly ToolDescription[], runner: ToolRunner): LanguageModelTool<unknown> {
  return {
    prepareInvocation: async ({ input }) => {
      const asked = fromDrawer(input, { inside: rare });
      return 'run' in asked ? prepare(asked.run, asked.input, runner) : { invocationMessage: t('Look up a Banksman tool') };
    },
    invoke: async (options, token) => {
      const asked = fromDrawer(options.input, { inside: rare });
      return 'run' in asked ? invoke(asked.run, { ...options, input: asked.input }, { runner, token }) : textResult(asked.outcome);
    },
  };
}

function languageModelTool(tool: ToolDescription, runner: ToolRunner): LanguageModelTool<unknown> {
  return {
    prepareInvocation: ({ input }) => prepare(tool, input, runner),
    invoke: (options, token) => invoke(tool, options, { runner, token }),
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
