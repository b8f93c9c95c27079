import { measureNode } from '../support/measure-process.mjs'
import { median } from '../support/statistics.mjs'
import { benchFile, createWorkplace } from '../support/workplace.mjs'

/** Heap of the main thread for each session that is idle. Each has read a file and answered. */
export async function idleSessions({ runs }) {
  const place = createWorkplace()
  const rules = [
    { when: { turn: 1 }, reply: { calls: [{ tool: 'read', args: { file_path: 'file-1.txt' } }] } },
    { when: {}, reply: { text: 'It has 8 lines.' } },
  ]
  const model = `scripted:${place.script({ rules })}`
  const args = ['--expose-gc', benchFile('programs/idle-sessions.mjs'), model, place.dir]
  const each = []
  try {
    for (let n = 0; n < runs; n++) each.push(JSON.parse((await measureNode(args, { env: place.env })).stdout).kbEach)
  } finally {
    place.remove()
  }
  return [{ figure: '1,000 idle sessions, main thread, each', value: median(each), unit: 'KB', goal: 20 }]
}
