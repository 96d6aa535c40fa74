/**
 * The style of our pages in the editor: the editor's own colours, so that it fits every theme, high contrast included. A state has its colour in a
 * mark before its word: as a text the themes' red and green have too little contrast.
 */
export const detailsStyle = `
body { padding: 0 2em 3em; color: var(--vscode-foreground); font-family: var(--vscode-font-family); font-size: var(--vscode-font-size); }
main { max-width: 60em; }
h1 { font-size: 1.6em; font-weight: 600; margin: 1em 0 .6em; overflow-wrap: anywhere; }
h2 { font-size: 1.1em; font-weight: 600; margin: 1.8em 0 .5em; border-bottom: 1px solid var(--vscode-panel-border, var(--vscode-contrastBorder, transparent)); padding-bottom: .2em; }
h3 { font-size: 1em; font-weight: 600; margin: 1em 0 .3em; overflow-wrap: anywhere; }
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .2em 1.2em .2em 0; overflow-wrap: anywhere; }
.trail td:nth-child(-n+2) { white-space: nowrap; }
th { font-weight: normal; color: var(--vscode-descriptionForeground); white-space: nowrap; }
code, pre { font-family: var(--vscode-editor-font-family); font-size: var(--vscode-editor-font-size); }
pre { background: var(--vscode-textCodeBlock-background); padding: .8em 1em; white-space: pre-wrap; overflow-wrap: anywhere; max-height: 30em; overflow-y: auto; }
.plan { padding-left: 1.6em; }
.plan li { margin: .7em 0; overflow-wrap: anywhere; }
.word { color: var(--vscode-descriptionForeground); }
.word.done { --state: var(--vscode-charts-green, var(--vscode-foreground)); }
.word.failed, .word.not-known { --state: var(--vscode-errorForeground); }
.word.not-run { --state: var(--vscode-editorWarning-foreground); }
pre .add { color: var(--vscode-gitDecoration-addedResourceForeground, inherit); }
pre .del { color: var(--vscode-gitDecoration-deletedResourceForeground, inherit); }
details { margin: .6em 0; }
summary { cursor: pointer; font-weight: 600; overflow-wrap: anywhere; min-height: 24px; line-height: 24px; }
#rest { margin-top: 2em; }
h1:focus { outline: none; }
summary:focus-visible, pre:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
ul { margin: 0; padding-left: 1.3em; }
.dim { color: var(--vscode-descriptionForeground); }
.bad, .deny { --state: var(--vscode-errorForeground); }
.ask { --state: var(--vscode-editorWarning-foreground); }
.allow { --state: var(--vscode-charts-green, var(--vscode-foreground)); }
.bad:not(.banner)::before, .deny::before, .ask::before, .allow::before, .word.done::before, .word.failed::before, .word.not-known::before, .word.not-run::before { content: "■ " / ""; color: var(--state); }
.banner { padding: .6em 1em; border-left: 4px solid var(--vscode-descriptionForeground); background: var(--vscode-textBlockQuote-background); }
.banner.waits { border-color: var(--vscode-editorWarning-foreground); }
.banner.bad { border-color: var(--vscode-errorForeground); color: inherit; }
.actions { display: flex; flex-wrap: wrap; gap: .6em; margin: 1.2em 0; }
.button { font: inherit; cursor: pointer; padding: .4em 1.2em; border-radius: 2px; text-decoration: none; background: var(--vscode-button-background); color: var(--vscode-button-foreground); border: 1px solid var(--vscode-button-border, transparent); }
.button:hover { background: var(--vscode-button-hoverBackground); color: var(--vscode-button-foreground); }
.button.quiet { background: var(--vscode-button-secondaryBackground); color: var(--vscode-button-secondaryForeground); }
.button.quiet:hover { background: var(--vscode-button-secondaryHoverBackground); }
.button:focus-visible { outline: 1px solid var(--vscode-focusBorder); outline-offset: 2px; }
@media (max-width: 30em) {
  body { padding: 0 .8em 2em; }
  tr { display: block; margin-bottom: .5em; }
  th, td { display: block; padding: 0; }
}
.trail td { border-bottom: 1px solid var(--vscode-panel-border, transparent); }
`;
