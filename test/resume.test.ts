import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { createTroupe, readTranscript, type Troupe } from '../src/index.ts'
import { createWorkplace, type Script, type Workplace } from './support/workplace.ts'

const session = 'mine'

/** One program's life: a runtime that is closed again. */
async function live<Told>(
  { dir, dataDir, env }: Workplace,
  model: string,
  work: (troupe: Troupe) => Promise<Told>,
): Promise<Told> {
  const troupe = await createTroupe({ dir, dataDir, env, model, permission: 'allow' })
  try {
    return await work(troupe)
  } finally {
    await troupe.close()
  }
}

function place(script: Script, files: Record<string, string> = {}) {
  const workplace = createWorkplace(files)
  const model = `scripted:${workplace.script(script)}`
  const during = <Told>(work: (troupe: Troupe) => Promise<Told>) => live(workplace, model, work)
  return {
    workplace,
    begin: () => during((troupe) => troupe.run({ prompt: 'go', session }).finished),
    resume: (prompt?: string) => during((troupe) => troupe.resume(session, prompt).finished),
    during,
  }
}

function journalOf({ dataDir }: Workplace): string {
  return join(dataDir, 'sessions', session, `${session}.jsonl`)
}

async function waitUntil(holds: () => boolean): Promise<void> {
  while (!holds()) await new Promise((resolve) => setTimeout(resolve, 5))
}

function userTexts({ dataDir }: Workplace): string[] {
  return readTranscript(session, dataDir).flatMap(({ role, text }) => (role === 'user' ? [text] : []))
}

describe('a session that is resumed without a word', () => {
  test('goes on where its model had failed', async () => {
    const script = {
      rules: [
        { when: { turn: 1 }, reply: { fault: { status: 400 } } },
        { when: {}, reply: { text: 'went on' } },
      ],
    }
    const { begin, resume, workplace } = place(script)
    expect((await begin()).status).toBe('failed')
    expect(await resume()).toMatchObject({ status: 'done', text: 'went on' })
    expect(userTexts(workplace)).toEqual(['go', 'Go on where you stopped.'])
  })

  test('goes on where the user had stopped it', async () => {
    const script = {
      rules: [
        { when: { turn: 1 }, reply: { text: 'slow '.repeat(200), chunkMs: 50 } },
        { when: {}, reply: { text: 'went on' } },
      ],
    }
    const { during, resume } = place(script)
    const stopped = await during(async (troupe) => {
      const run = troupe.run({ prompt: 'go', session })
      troupe.events.subscribe((event) => event.type === 'text.delta' && void run.cancel())
      return run.finished
    })
    expect(stopped.status).toBe('interrupted')
    expect(await resume()).toMatchObject({ status: 'done', text: 'went on' })
  })

  test('says nothing new when all is done', async () => {
    const { begin, resume, workplace } = place({ rules: [{ when: {}, reply: { text: 'answer {{turn}}' } }] })
    await begin()
    expect(await resume()).toMatchObject({ status: 'done', text: 'answer 1' })
    expect(userTexts(workplace)).toEqual(['go'])
  })

  test('asks for a prompt when its first one was never written', async () => {
    const { begin, resume, workplace } = place({ rules: [{ when: {}, reply: { text: 'hello' } }] })
    await begin()
    const path = journalOf(workplace)
    writeFileSync(path, readFileSync(path, 'utf8').split('\n').slice(0, 1).join('\n').concat('\n'))
    await expect(resume()).rejects.toThrow(`troupe resume ${session} "prompt"`)
    expect(await resume('again')).toMatchObject({ status: 'done', text: 'hello' })
  })
})

test('what is said to a session right after it is resumed waits until it is whole again', async () => {
  const script = {
    rules: [
      { when: { text: 'more' }, reply: { text: 'heard more' } },
      { when: { turn: 1 }, reply: { calls: [{ tool: 'bash', args: { command: 'sleep 5' } }] } },
      { when: {}, reply: { text: 'waiting', delayMs: 200 } },
    ],
  }
  const { during, workplace } = place(script)
  await during(async (troupe) => {
    const started = new Promise<void>((resolve) => {
      troupe.events.subscribe((event) => event.type === 'tool.started' && resolve())
    })
    troupe.run({ prompt: 'go', session })
    await started
    await waitUntil(() => readFileSync(journalOf(workplace), 'utf8').includes('call.started'))
  })
  const finished = await during((troupe) => {
    const run = troupe.resume(session)
    run.send('more')
    return run.finished
  })
  expect(finished).toMatchObject({ status: 'done', text: 'heard more' })
  const results = readTranscript(session, workplace.dataDir).filter(({ role }) => role === 'result')
  expect(results).toMatchObject([{ title: 'result c1.1 bash (interrupted)' }])
})

test('a child whose launch its parent has lost is told of, kept, and sent again under another name', async () => {
  const script = {
    rules: [
      {
        when: { agent: 'lead', turn: 1 },
        reply: { calls: [{ tool: 'task', args: { agent: 'explorer', prompt: 'look' } }] },
      },
      { when: { agent: 'explorer' }, reply: { text: 'seen' } },
      { when: {}, reply: { text: 'child says {{last}}' } },
    ],
  }
  const { begin, during, workplace } = place(script)
  await begin()
  const path = journalOf(workplace)
  const lines = readFileSync(path, 'utf8').split('\n')
  const launch = lines.findIndex((line) => line.includes('"job.launched"'))
  writeFileSync(path, `${lines.slice(0, launch).join('\n')}\n`)
  const told: string[] = []
  const finished = await during((troupe) => {
    troupe.events.subscribe(
      (event) => event.type === 'journal.damaged' && told.push(`${event.session}: ${event.message}`),
    )
    return troupe.resume(session).finished
  })
  expect(told).toEqual([expect.stringContaining(`troupe show ${session}-exp-1`)])
  expect(finished).toMatchObject({ status: 'done', text: 'child says seen' })
  expect(finished.jobs).toMatchObject([{ alias: 'exp-2', state: 'completed', delivered: true }])
  expect(readTranscript(`${session}-exp-1`, workplace.dataDir).at(-1)).toMatchObject({ text: 'seen' })
})
