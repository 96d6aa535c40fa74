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
import { showPlainly } from '#kernel/text';
import type { ToolDescription } from '#kernel/tool';
import { languageModelName } from '../contributes/names.ts';
import { escapeMarkdown } from '../markdown.ts';
import { abortOnCancel } from './call-progress.ts';
import { chatCaller, resultText } from './chat-words.ts';
import { runTool, type ToolRunner } from './run-tool.ts';

/** Registers every tool of the catalog under its prefixed name. */
export function registerLanguageModelTools(tools: readonly ToolDescription[], runner: ToolRunner): Disposable[] {
  return tools.map((tool) => lm.registerTool(languageModelName(tool.name), languageModelTool(tool, runner)));
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
  const title = showPlainly(said?.title ?? tool.title, 200);
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
  const { summary, json } = resultText(outcome);
  // Text only: JSON data parts never reach the model.
  return new LanguageModelToolResult([new LanguageModelTextPart(summary), new LanguageModelTextPart(json)]);
}
