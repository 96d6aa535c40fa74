/** Coding agents that install from npm's registry and run against a model that is a script: one record each. */

import type { ModelDialect } from '../../scripts/bench/model-dialect.ts';
import { chatCompletions } from '../../scripts/bench/model-dialect-chat.ts';
import { anthropicMessages } from './dialects/anthropic-messages.ts';
import { geminiContent } from './dialects/gemini-content.ts';
import { openaiResponses } from './dialects/openai-responses.ts';

/** A tool of the agent's own as its model calls it. */
export interface OwnCall {
  readonly tool: string;
  readonly args: Readonly<Record<string, unknown>>;
}

export interface TestedAgent {
  /** Its word in `banksman connect` and `banksman hook`. */
  readonly name: string;
  readonly title: string;
  readonly package: string;
  /** Exactly this one is installed. */
  readonly version: string;
  /** Below `node_modules`. */
  readonly program: string;
  readonly dialect: ModelDialect;
  /** Files below its home, by their names, that point it at the model. @param model `http://127.0.0.1:PORT` @param project which it trusts */
  files(model: string, project: string): Readonly<Record<string, string>>;
  env(model: string): Readonly<Record<string, string>>;
  /** One prompt without a screen, its own questions off. */
  readonly args: readonly string[];
  /** What its model calls a tool of our server. */
  banksmanTool(tool: string): string;
  /** Where its model has to search for tools of servers: the search, and how a tool is called then that is offered by no name of its own. */
  readonly find?: { search(tool: string): OwnCall; call?(call: OwnCall): OwnCall };
  readonly shell: (command: string) => OwnCall;
  readonly write: (file: string, text: string) => OwnCall;
  readonly read?: (file: string) => OwnCall;
  readonly fetch?: (url: string) => OwnCall;
  /** Words with which it obeys a user's hook that nobody has reviewed. */
  readonly hookArgs?: readonly string[];
  /** A file of a repository that switches a user's hook off. */
  readonly switchOff?: { readonly file: string; readonly text: string };
}

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;
const prompt = 'go';
const qualified = (tool: string) => `mcp__banksman__${tool}`;
const platform = `${process.platform}-${process.arch}`;

export const testedAgents: readonly TestedAgent[] = [
  {
    ...{ name: 'claude-code', title: 'Claude Code', package: '@anthropic-ai/claude-code', version: '2.1.332' },
    program: `@anthropic-ai/claude-code-${platform}/claude`,
    dialect: anthropicMessages,
    files: () => ({}),
    env: (model) => ({
      ...{ ANTHROPIC_BASE_URL: model, ANTHROPIC_API_KEY: 'sk-ant-none', ENABLE_TOOL_SEARCH: 'false' },
      ...{ CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: '1', DISABLE_AUTOUPDATER: '1', IS_SANDBOX: '1', MCP_CONNECTION_NONBLOCKING: 'false' },
    }),
    args: ['-p', prompt, '--model', 'claude-sonnet-4-5', '--dangerously-skip-permissions'],
    banksmanTool: qualified,
    shell: (command) => ({ tool: 'Bash', args: { command, description: 'a command' } }),
    write: (file, text) => ({ tool: 'Write', args: { file_path: file, content: text } }),
    read: (file) => ({ tool: 'Read', args: { file_path: file } }),
    fetch: (url) => ({ tool: 'WebFetch', args: { url, prompt: 'what it says' } }),
    switchOff: { file: '.claude/settings.json', text: json({ disableAllHooks: true }) },
  },
  {
    ...{ name: 'codex', title: 'Codex', package: '@openai/codex', version: '0.171.0', program: '.bin/codex' },
    dialect: openaiResponses,
    files: (model, project) => ({
      '.codex/config.toml': `model = "gpt-5.5"\nmodel_provider = "scripted"\ncheck_for_update_on_startup = false\n\n[model_providers.scripted]\nname = "scripted"\nbase_url = "${model}/v1"\nwire_api = "responses"\n\n[projects.${JSON.stringify(project)}]\ntrust_level = "trusted"\n`,
    }),
    env: () => ({}),
    args: ['exec', '--skip-git-repo-check', '--dangerously-bypass-approvals-and-sandbox', prompt],
    banksmanTool: qualified,
    find: { search: (tool) => ({ tool: 'tool_search', args: { query: tool.replace(/^.*__/, '').replaceAll('_', ' '), limit: 40 } }) },
    shell: (command) => ({ tool: 'exec_command', args: { cmd: command } }),
    write: (file, text) => ({
      tool: 'apply_patch',
      args: {
        input: `*** Begin Patch\n*** Add File: ${file}\n${text
          .split('\n')
          .map((line) => `+${line}`)
          .join('\n')}\n*** End Patch\n`,
      },
    }),
    hookArgs: ['--dangerously-bypass-hook-trust'],
    switchOff: { file: '.codex/config.toml', text: '[features]\nhooks = false\n' },
  },
  {
    ...{ name: 'copilot', title: 'Copilot CLI', package: '@github/copilot', version: '1.0.102', program: '.bin/copilot' },
    dialect: chatCompletions,
    files: () => ({}),
    env: (model) => ({
      // Said so it trusts the folder, too.
      COPILOT_ALLOW_ALL: 'true',
      ...{ COPILOT_PROVIDER_BASE_URL: `${model}/v1`, COPILOT_MODEL: 'gpt-5', COPILOT_OFFLINE: 'true', COPILOT_AUTO_UPDATE: 'false' },
    }),
    args: ['-p', prompt, '--allow-all-tools', '--allow-all-paths'],
    banksmanTool: (tool) => `banksman-${tool}`,
    shell: (command) => ({ tool: 'bash', args: { command, description: 'a command' } }),
    write: (file, text) => ({ tool: 'create', args: { path: file, file_text: text } }),
    read: (file) => ({ tool: 'view', args: { path: file } }),
    fetch: (url) => ({ tool: 'web_fetch', args: { url } }),
    switchOff: { file: '.github/copilot/settings.json', text: json({ disableAllHooks: true }) },
  },
  {
    ...{ name: 'gemini', title: 'Gemini CLI', package: '@google/gemini-cli', version: '0.61.0', program: '.bin/gemini' },
    dialect: geminiContent,
    files: () => ({
      '.gemini/settings.json': json({
        security: { auth: { selectedType: 'gemini-api-key' } },
        // Else it refuses what lies outside before it asks a hook.
        context: { includeDirectories: ['~'] },
        general: { disableAutoUpdate: true, disableUpdateNag: true },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    env: (model) => ({ GEMINI_API_KEY: 'none', GOOGLE_GEMINI_BASE_URL: model, GEMINI_CLI_TRUST_WORKSPACE: 'true' }),
    args: ['-p', prompt, '-m', 'gemini-2.5-pro', '--yolo'],
    banksmanTool: (tool) => `mcp_banksman_${tool}`,
    shell: (command) => ({ tool: 'run_shell_command', args: { command, description: 'a command' } }),
    write: (file, text) => ({ tool: 'write_file', args: { file_path: file, content: text } }),
    read: (file) => ({ tool: 'read_file', args: { file_path: file } }),
    fetch: (url) => ({ tool: 'web_fetch', args: { prompt: `read ${url}` } }),
    switchOff: { file: '.gemini/settings.json', text: json({ hooksConfig: { enabled: false } }) },
  },
  {
    ...{ name: 'opencode', title: 'opencode', package: 'opencode-ai', version: '1.18.33' },
    program: `opencode-${platform}/bin/opencode`,
    dialect: chatCompletions,
    files: (model) => ({
      '.config/opencode/opencode.json': json({
        autoupdate: false,
        permission: 'allow',
        provider: {
          scripted: {
            ...{ npm: '@ai-sdk/openai-compatible', name: 'scripted', options: { baseURL: `${model}/v1`, apiKey: 'none' } },
            models: { scripted: { name: 'scripted', tool_call: true, limit: { context: 200_000, output: 8_000 } } },
          },
        },
      }),
    }),
    env: () => ({ OPENCODE_DISABLE_AUTOUPDATE: '1', OPENCODE_DISABLE_MODELS_FETCH: '1', OPENCODE_DISABLE_LSP_DOWNLOAD: '1' }),
    args: ['run', '-m', 'scripted/scripted', prompt],
    banksmanTool: (tool) => `banksman_${tool}`,
    shell: (command) => ({ tool: 'bash', args: { command, description: 'a command' } }),
    write: (file, text) => ({ tool: 'write', args: { filePath: file, content: text } }),
    read: (file) => ({ tool: 'read', args: { filePath: file } }),
    fetch: (url) => ({ tool: 'webfetch', args: { url, format: 'text' } }),
  },
  {
    ...{ name: 'qwen', title: 'Qwen Code', package: '@qwen-code/qwen-code', version: '0.24.4', program: '.bin/qwen' },
    dialect: chatCompletions,
    files: () => ({
      '.qwen/settings.json': json({
        security: { auth: { selectedType: 'openai' } },
        general: { enableAutoUpdate: false },
        privacy: { usageStatisticsEnabled: false },
      }),
    }),
    env: (model) => ({ OPENAI_API_KEY: 'none', OPENAI_BASE_URL: `${model}/v1`, OPENAI_MODEL: 'scripted' }),
    args: ['-p', prompt, '--yolo'],
    banksmanTool: qualified,
    find: {
      search: (tool) => ({ tool: 'tool_search', args: { query: `select:${tool}` } }),
      call: ({ tool, args }) => ({ tool: 'tool_call', args: { name: tool, arguments: args } }),
    },
    shell: (command) => ({ tool: 'run_shell_command', args: { command, description: 'a command', is_background: false } }),
    write: (file, text) => ({ tool: 'write_file', args: { file_path: file, content: text } }),
    read: (file) => ({ tool: 'read_file', args: { file_path: file } }),
    fetch: (url) => ({ tool: 'web_fetch', args: { url, prompt: 'what it says' } }),
    switchOff: { file: '.qwen/settings.json', text: json({ disableAllHooks: true }) },
  },
];
