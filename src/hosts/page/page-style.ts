/** The page's style: one sheet, light and dark, from 320 pixels on. Contrasts are at least 4.5 : 1 (WCAG 2.2, 1.4.3). */
export const pageStyle = `
:root { color-scheme: light dark; --ground: #f5f6f8; --sheet: #ffffff; --text: #1a222c; --dim: #566270; --line: #d9dee5; --strong: #1f5ba8; --onstrong: #ffffff; --strongest: #17467f;
  --soft: #eef1f5; --good: #17653a; --goodsoft: #e6f4ec; --bad: #a3261c; --badsoft: #fcebe9; --warn: #7a4d00; --warnsoft: #fdf2dc; }
@media (prefers-color-scheme: dark) {
  :root { --ground: #12171e; --sheet: #1a212a; --text: #e6ebf1; --dim: #a3afbc; --line: #303a46; --strong: #8bb8f2; --onstrong: #0d1a2b; --strongest: #b3d1f8;
    --soft: #232c37; --good: #86d6a5; --goodsoft: #16301f; --bad: #ffa198; --badsoft: #3a1b19; --warn: #f0c36d; --warnsoft: #33270f; }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body { margin: 0; background: var(--ground); color: var(--text); font: 16px/1.55 system-ui, -apple-system, 'Segoe UI', Roboto, 'Noto Sans', sans-serif; }
header { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .25rem 1.5rem; max-width: 46rem; margin: 0 auto; padding: 1rem 1.25rem .5rem; }
.brand { display: inline-flex; align-items: center; gap: .5rem; font-weight: 650; color: inherit; text-decoration: none; }
.brand svg { color: var(--strong); }
nav { display: flex; flex-wrap: wrap; gap: .25rem; }
nav a { padding: .35rem .7rem; white-space: nowrap; border-radius: 999px; color: var(--dim); text-decoration: none; }
nav a[aria-current] { background: var(--soft); color: var(--text); font-weight: 600; }
main, #trouble, #result, noscript { display: block; max-width: 46rem; margin: 0 auto; padding: 0 1.25rem; }
main { padding-bottom: 4rem; }
main:focus { outline: none; }
#result[hidden] { display: none; }
h1 { margin: .9rem 0 1rem; font-size: clamp(1.35rem, 1.1rem + 1.4vw, 1.8rem); line-height: 1.25; font-weight: 650; letter-spacing: -.01em; overflow-wrap: anywhere; text-wrap: balance; }
h2 { margin: 1.75rem 0 .5rem; font-size: 1rem; font-weight: 650; overflow-wrap: anywhere; }
p { margin: .5rem 0; overflow-wrap: anywhere; }
a { color: var(--strong); text-underline-offset: .15em; }
code, pre { font: .875em/1.5 ui-monospace, 'SF Mono', Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
code { overflow-wrap: anywhere; }
.quiet { color: var(--dim); font-size: .925rem; }
.crumb { margin: .75rem 0 0; font-size: .925rem; }
.crumb a { color: var(--dim); text-decoration: none; padding: .3rem 0; display: inline-block; }
.crumb a:hover { color: var(--text); text-decoration: underline; }
.state { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .75rem; margin: 1rem 0 0; }
.ended { display: block; padding: .7rem 1rem; border-radius: .6rem; background: var(--soft); }
.chip { display: inline-block; max-width: 100%; padding: .1rem .6rem; border: 1px solid var(--line); border-radius: 999px; background: var(--sheet); color: var(--dim); font-size: .85rem; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; }
.chip.disruptive { background: var(--warnsoft); border-color: transparent; color: var(--warn); }
.chip.irreversible { background: var(--badsoft); border-color: transparent; color: var(--bad); font-weight: 600; }
.chip.waits { background: var(--goodsoft); border-color: transparent; color: var(--good); }
.left { color: var(--dim); font-size: .9rem; font-variant-numeric: tabular-nums; white-space: nowrap; }
.left.soon { color: var(--bad); font-weight: 600; }
.facts { margin: 0; display: grid; gap: .1rem; }
.facts div { display: grid; grid-template-columns: minmax(5.5rem, 8rem) 1fr; gap: .75rem; padding: .25rem 0; }
.facts dt { color: var(--dim); hyphens: auto; }
.facts dd { margin: 0; overflow-wrap: anywhere; overflow: hidden; }
.target { padding: .6rem 1rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--sheet); }
.target dd { font-weight: 600; }
.target + .target { margin-top: .5rem; }
.note { padding-left: .9rem; border-left: 3px solid var(--warn); }
.step { margin: .9rem 0 .1rem; font-weight: 600; }
.of-step { margin: .1rem 0 .1rem 1.4rem; }
.notice { padding: .75rem 1rem; border-radius: .6rem; background: var(--soft); }
#trouble:not(:empty), #result { max-width: 43.5rem; padding: .75rem 1rem; border-radius: .6rem; margin: .75rem auto 0; }
#trouble:not(:empty) { background: var(--warnsoft); color: var(--warn); }
.notice.good { background: var(--goodsoft); color: var(--good); }
.notice.bad { background: var(--badsoft); color: var(--bad); }
@media (max-width: 46rem) { #trouble:not(:empty), #result { margin-inline: 1.25rem; } }
.demo { flex: 1 1 100%; margin: .25rem 0 0; padding: .4rem 1rem; border-radius: .6rem; background: var(--warnsoft); color: var(--warn); font-size: .9rem; }
.group { margin-top: 1.5rem; }
.grouphead { display: flex; flex-wrap: wrap; justify-content: space-between; align-items: center; gap: .5rem; margin-bottom: .5rem; }
.grouphead h2 { margin: 0; color: var(--dim); font-weight: 600; min-width: 0; }
.rows { list-style: none; margin: 0; padding: 0; border: 1px solid var(--line); border-radius: .75rem; background: var(--sheet); overflow: hidden; }
.rows li + li { border-top: 1px solid var(--line); }
.row { display: grid; gap: .15rem; padding: .85rem 1rem; color: inherit; text-decoration: none; }
.row:hover { background: var(--soft); }
.rowtitle { font-weight: 600; overflow-wrap: anywhere; overflow: hidden; }
.where { color: var(--dim); font-size: .925rem; overflow-wrap: anywhere; overflow: hidden; }
.meta { display: flex; flex-wrap: wrap; align-items: center; gap: .4rem .75rem; margin-top: .35rem; }
.empty { margin-top: 2rem; padding: 2.5rem 1.25rem; text-align: center; border: 1px dashed var(--line); border-radius: .75rem; }
.plain, .steps { padding-left: 1.2rem; }
.steps li { margin: .6rem 0; }
.diff { border: 1px solid var(--line); border-radius: .75rem; background: var(--sheet); overflow-x: auto; }
.diff pre { margin: 0; padding: .75rem 0; min-width: max-content; }
.diff span { display: block; padding: 0 1rem; white-space: pre; height: 1.5em; overflow: hidden; }
.diff .add { background: var(--goodsoft); color: var(--good); }
.diff .del { background: var(--badsoft); color: var(--bad); }
.diff .ctx { color: var(--dim); }
.diff .file { font-weight: 650; }
details .qr { display: block; width: min(14rem, 100%); height: auto; margin: .75rem 0; border-radius: .5rem; }
details { margin-top: 2rem; color: var(--dim); }
summary { cursor: pointer; padding: .35rem 0; }
details pre { padding: .75rem 1rem; border-radius: .6rem; background: var(--soft); white-space: pre-wrap; overflow-wrap: anywhere; }
.answer { margin-top: 2rem; padding: 1.1rem 1.25rem 1.25rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--sheet); }
.answer h2 { margin-top: 0; }
.buttons { display: flex; flex-wrap: wrap; gap: .75rem; margin-top: 1rem; }
button { min-height: 2.75rem; padding: .5rem 1.25rem; border: 1px solid var(--line); border-radius: .6rem; background: var(--sheet); color: var(--text); font: inherit; font-weight: 600; cursor: pointer; }
button:hover { background: var(--soft); }
button.primary { background: var(--strong); border-color: var(--strong); color: var(--onstrong); }
button.primary:hover { background: var(--strongest); border-color: var(--strongest); }
button.danger { border-color: var(--bad); color: var(--bad); }
button.small { min-height: 2.25rem; padding: .25rem .9rem; font-size: .9rem; }
button[aria-disabled='true'] { opacity: .6; cursor: progress; }
.field { display: grid; gap: .4rem; }
.pair { display: flex; flex-wrap: wrap; gap: 0 1rem; }
.pair .field { flex: 1 1 12rem; }
.choices { list-style: none; margin: .5rem 0; padding: 0; border: 1px solid var(--line); border-radius: .75rem; background: var(--sheet); }
.choices li { display: flex; flex-wrap: wrap; align-items: center; justify-content: space-between; gap: .5rem 1rem; padding: .75rem 1rem; }
.choices li + li { border-top: 1px solid var(--line); }
.choices li > div { flex: 1 1 15rem; min-width: 0; overflow-wrap: anywhere; }
.choices p { margin: .1rem 0; }
.notice.warn { background: var(--warnsoft); color: var(--warn); }
.notice.warn a { color: inherit; }
.progress li { margin: .45rem 0; overflow-wrap: anywhere; }
.checks { list-style: none; margin: .5rem 0; padding: 0; }
.checks label { display: flex; align-items: baseline; gap: .6rem; padding: .45rem 0; color: var(--text); overflow-wrap: anywhere; cursor: pointer; }
.checks input { flex: none; width: 1.1rem; height: 1.1rem; margin: 0; transform: translateY(.15rem); accent-color: var(--strong); }
.waiting { padding-left: 1.2rem; }
.waiting li { margin: .4rem 0; overflow-wrap: anywhere; }
.newrule { margin-top: 1rem; }
h3 { margin: 1rem 0 .25rem; font-size: 1rem; font-weight: 600; }
input, textarea, select { width: 100%; padding: .6rem .75rem; border: 1px solid var(--dim); border-radius: .5rem; background: var(--ground); color: var(--text); font: inherit; }
.typed { font-family: ui-monospace, Menlo, Consolas, monospace; }
.fingerprint { padding: 1rem; border: 1px solid var(--line); border-radius: .75rem; background: var(--sheet); text-align: center; font-size: 1.25rem; }
dialog { width: min(32rem, calc(100vw - 2rem)); padding: 1.25rem; border: 1px solid var(--line); border-radius: .9rem; background: var(--sheet); color: var(--text); }
dialog::backdrop { background: rgb(0 0 0 / .5); }
dialog h2 { margin-top: 0; font-size: 1.1rem; }
:focus-visible { outline: 3px solid var(--strong); outline-offset: 2px; }
.row:focus-visible { outline-offset: -3px; }
.skip, .unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.skip:focus { position: static; width: auto; height: auto; clip-path: none; display: block; padding: .5rem 1.25rem; }
@media (max-width: 30rem) { header { padding-inline: 1rem; gap: .25rem .5rem; } .demo { margin-inline: .25rem; } nav { gap: 0; } nav a { padding: .3rem .5rem; font-size: .875rem; } .facts div { grid-template-columns: 7rem 1fr; } .answer .buttons button, dialog .buttons button { flex: 1 1 100%; } }
@media (prefers-reduced-motion: no-preference) { button, .row, nav a { transition: background-color .12s; } }
`;
