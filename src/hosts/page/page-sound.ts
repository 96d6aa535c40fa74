/** The sound of the page, where a person wants one: the choice is kept in that browser, and the tones are made by it, so that nothing is loaded. */
import { say } from '#kernel/text/message';
import { html } from './markup.ts';

export const soundChoice = html`<h2>${say`Sound`}</h2>
<p class="field"><label for="sound">${say`When something new waits, and the list is open in this browser`}</label>
<select id="sound" data-sound><option value="never">${say`no sound`}</option><option value="red">${say`a sound for red calls`}</option><option value="all">${say`a sound for everything`}</option></select></p>
<p class="quiet">${say`A browser plays it only once you have clicked or typed on this page since it was loaded. On a phone that sleeps no page plays anything.`}</p>`;

/** SECURITY: it reads the list and plays two tones; nothing leaves by it. */
export const soundScript = `// Sound, as this browser's person chose it.

const soundKind = () => localStorage.getItem('sound') ?? 'never';
let heard;
let audio;
function play() {
  audio ??= new AudioContext();
  void audio.resume().then(() => {
    for (const [index, frequency] of [660, 880].entries()) {
      const tone = new OscillatorNode(audio, { frequency });
      const volume = new GainNode(audio, { gain: 0.15 });
      const start = audio.currentTime + index * 0.18;
      volume.gain.setTargetAtTime(0, start + 0.08, 0.04);
      tone.connect(volume).connect(audio.destination);
      tone.start(start);
      tone.stop(start + 0.3);
    }
  });
}

// What stood there at the first look is no news.
function listen() {
  const choice = main.querySelector('[data-sound]');
  if (choice && choice !== document.activeElement) choice.value = soundKind();
  if (location.pathname !== '/') return;
  const rows = [...main.querySelectorAll('[data-tier]')];
  const wanted = rows.filter(({ dataset }) => soundKind() === 'all' || (soundKind() === 'red' && dataset.tier === 'red'));
  if (heard && wanted.some(({ id }) => !heard.has(id))) play();
  heard = new Set(rows.map(({ id }) => id));
}

document.addEventListener('change', ({ target }) => {
  if (!target.matches('[data-sound]')) return;
  localStorage.setItem('sound', target.value);
  if (target.value !== 'never') play();
});
`;
