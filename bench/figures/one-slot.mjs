import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { measureNode } from '../support/measure-process.mjs'
import { medians } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

const children = 5
const turns = 8
/** Of what each child reads first: with it their contexts are about 8,000 tokens at the end. */
const partChars = 26_000
// 10 times the speed of a real machine, so that the figure takes seconds and not minutes.
const speedup = 10
const server = { parallel: 1, prefillTps: 500 * speedup, decodeTps: 30 * speedup }

/**
 * Five children of eight turns and their lead on one model slot, beside the ideal order (one child at a time), and beside a
 * queue that is first come, first served: the server's own, when it is sent every request at once.
 */
export async function oneSlot({ runs }) {
  const place = createWorkplace()
  for (let n = 1; n <= children; n++) writeFileSync(join(place.dir, `part-${n}.txt`), partText(n))
  const path = place.script(script)
  const samples = { ideal: [], ours: [], queue: [] }
  try {
    for (let n = 0; n < runs; n++) {
      samples.ideal.push(await play(place, path, { maxChildren: 1 }))
      samples.ours.push(await play(place, path))
      samples.queue.push(await play(place, path, { slots: 64 }))
    }
  } finally {
    place.remove()
  }
  const [ideal, ours, queue] = ['ideal', 'ours', 'queue'].map((kind) => medians(samples[kind]))
  const name = '5 children on one slot'
  return [
    { figure: name, value: ours.runMs, unit: 'ms', floor: ideal.runMs, goal: ideal.runMs * 1.15 },
    { figure: `${name}, tokens read`, value: ours.prefilledTokens, unit: '', floor: ideal.prefilledTokens },
    { figure: `${name}, first come`, value: queue.runMs, unit: 'ms', floor: ideal.runMs },
    {
      figure: `${name}, first come, tokens read`,
      value: queue.prefilledTokens,
      unit: '',
      floor: ideal.prefilledTokens,
    },
  ]
}

/** No two lines alike, and no two parts. */
function partText(part) {
  let text = ''
  for (let n = 1; text.length < partChars; n++)
    text += `part ${part}, line ${n}: ${(n * part * 7919) % 104_729} words\n`
  return text
}

async function play(place, path, { slots = 1, maxChildren = children } = {}) {
  const { startScriptedServer } = await import('../../dist/index.js')
  const running = await startScriptedServer({ path })
  try {
    const args = [benchFile('programs/run-troupe.mjs'), 'ollama/scripted', place.dir, slots, maxChildren].map(String)
    const { stdout } = await measureNode(args, { env: { ...place.env, OLLAMA_HOST: running.url } })
    const { runMs, delivered } = JSON.parse(stdout)
    if (delivered !== children) throw new Error(`${delivered} of ${children} children were delivered`)
    return { runMs, ...running.load() }
  } finally {
    await running.close()
  }
}

const usage = { output: 40 }
const read = (file_path) => ({ tool: 'read', args: { file_path } })
const task = (n) => ({ tool: 'task', args: { agent: 'explorer', prompt: `Sum up part-${n}.txt.`, background: true } })

const script = {
  model: { context: 32768, parameters: '70B', tools: true },
  server,
  rules: [
    {
      when: { agent: 'lead', turn: 1 },
      reply: { calls: Array.from({ length: children }, (_, n) => task(n + 1)), usage },
    },
    {
      when: { agent: 'explorer', turn: 1, prompt: '(part-\\d).txt' },
      reply: { calls: [read('{{match.1}}.txt')], usage },
    },
    { when: { agent: 'explorer', turn: `<${turns}` }, reply: { calls: [read('file-{{turn}}.txt')], usage } },
    { when: {}, reply: { text: 'Done.', usage } },
  ],
}
