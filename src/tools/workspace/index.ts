/** The workspace tools, in the order they are listed. */
import type { Tool } from '#kernel/tool';
import { agentTools } from '../support/agent-tools.ts';
import { editFile, listDirectory, readFile, searchFiles, writeFile } from './files.ts';
import { applyHeld, runCommand, undoRun } from './runs.ts';
export const workspaceTools: readonly Tool[] = [readFile, listDirectory, searchFiles, writeFile, editFile, runCommand, undoRun];

/** In no list (`ToolDefinition.internal`). */
export const internalTools: readonly Tool[] = [applyHeld, ...agentTools];
