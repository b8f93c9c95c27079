import { describe, expect, test } from 'vitest'
import { createChaosPlace, expectRecovered, finishedOf } from './support/chaos-place.ts'
import { checkInvariants } from './support/check-invariants.ts'

const append = (token: string) => ({ tool: 'bash', args: { command: `echo ${token} >> tokens.txt` } })
const task = (prompt: string, background: boolean) => ({ tool: 'task', args: { agent: 'general', prompt, background } })

/** One thing after the other, so that the n-th record of a type is always the same one. */
const stepByStep = {
  rules: [
    { when: { depth: 0, turn: 1 }, reply: { calls: [task('first', false)] } },
    { when: { depth: 0, turn: 2 }, reply: { calls: [append('root')] } },
    { when: { depth: 0, turn: 3 }, reply: { calls: [task('second', true)] } },
    { when: { depth: 0, results: 1 }, reply: { text: 'got {{results}}' } },
    { when: { depth: 0 }, reply: { text: 'I wait.' } },
    { when: { depth: 1, turn: 1 }, reply: { calls: [append('{{prompt}}')] } },
    { when: { depth: 1 }, reply: { text: '{{prompt}} done' } },
  ],
}
const answer = 'got gen-2: second done'

/** The n-th record of a type in the script above, whose it is, and what the session had of it after the kill. */
const windows: [record: string, whose: string][] = [
  ['session.created:1', 'the root, its prompt with it'],
  ['session.created:2', 'a child in the foreground'],
  ['session.created:3', 'a child in the background'],
  ['turn.started:1', 'the root'],
  ['turn.started:2', 'a child'],
  ['assistant.message:1', 'the root, its task not launched'],
  ['assistant.message:2', 'a child, its command not started'],
  ['job.launched:1', 'a job in the foreground, without its session'],
  ['job.launched:2', 'a job in the background, without its session'],
  ['call.started:1', 'a command of a child'],
  ['call.started:2', 'a command of the root'],
  ['call.finished:1', 'a command of a child'],
  ['session.ended:1', 'a child in the foreground, not delivered'],
  ['call.finished:2', 'a child, delivered as the result of its task'],
  ['call.finished:3', 'a command of the root'],
  ['call.finished:4', 'a task that goes on in the background'],
  ['session.ended:2', 'a child in the background, not delivered'],
  ['message.received:4', 'a result in the mailbox of the root'],
  ['turn.started:8', 'the root, the result taken'],
  ['assistant.message:8', 'the root, its last answer'],
]

describe('a program killed right after one record', () => {
  test.each(windows)('%s (%s) is resumed to its end', async (record) => {
    const place = createChaosPlace({}, stepByStep)
    expect((await place.run({ faultAt: record })).code).toBe(null)
    await expectRecovered(place, await place.resume(), answer)
  })

  test.each([
    ['ask.requested:1', 'of a child'],
    ['ask.resolved:1', 'of a child'],
    ['ask.requested:2', 'of the root'],
    ['ask.resolved:2', 'of the root'],
  ])('%s (%s) is resumed to its end, and the question is decided once', async (record) => {
    const place = createChaosPlace({}, stepByStep, 'deny')
    expect((await place.run({ faultAt: record })).code).toBe(null)
    await expectRecovered(place, await place.resume(), answer)
  })

  test('at three levels: each parent gets one result', async () => {
    const chain = {
      rules: [
        ...[0, 1, 2].map((depth) => ({
          when: { depth, turn: 1 },
          reply: { calls: [task(`level ${depth + 1}`, depth === 1)] },
        })),
        { when: { depth: 3, turn: 1 }, reply: { calls: [append('leaf')] } },
        { when: { depth: 1, turn: 2 }, reply: { text: 'I wait.' } },
        { when: {}, reply: { text: 'depth {{depth}} over' } },
      ],
    }
    const place = createChaosPlace({}, chain)
    expect((await place.run({ faultAt: 'call.started' })).code).toBe(null)
    const last = await place.resume()
    await expectRecovered(place, last, 'depth 0 over')
    expect(finishedOf(last)?.jobs.map(({ state, delivered }) => `${state} ${delivered}`)).toEqual(
      Array(3).fill('completed true'),
    )
  })

  test('in the middle of an answer: the turn is asked again', async () => {
    const slow = { rules: [{ when: {}, reply: { text: 'a slow answer that takes its time', chunkMs: 250 } }] }
    const place = createChaosPlace({}, slow)
    expect((await place.run({ faultAt: 'turn.partial' })).code).toBe(null)
    await expectRecovered(place, await place.resume(), 'a slow answer that takes its time')
  })
})

describe('a program killed while a child comes to a bad end', () => {
  const send = (args: object) => ({ tool: 'task', args: { agent: 'general', ...args } })

  test('whose turn has failed: it ends as failed, and its parent reads why', async () => {
    const script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [send({ prompt: 'fail' })] } },
        { when: { depth: 1 }, reply: { fault: { status: 400, message: 'no such thing' } } },
        { when: { depth: 0 }, reply: { text: 'it said: {{last}}' } },
      ],
    }
    const place = createChaosPlace({}, script)
    expect((await place.run({ faultAt: 'turn.failed' })).code).toBe(null)
    const last = await place.resume()
    expect(finishedOf(last)).toMatchObject({ status: 'done', jobs: [{ state: 'failed', delivered: true }] })
    expect(finishedOf(last)?.text).toContain('no such thing')
    await checkInvariants(place.toCheck(last))
  })

  test('whose own child was stopped already: it reads so, and goes on', async () => {
    const script = {
      rules: [
        { when: { depth: 0, turn: 1 }, reply: { calls: [send({ prompt: 'middle', timeout_ms: 1500 })] } },
        { when: { depth: 1, turn: 1 }, reply: { calls: [send({ prompt: 'low' })] } },
        { when: { depth: 2, turn: 1 }, reply: { calls: [{ tool: 'bash', args: { command: 'sleep 60' } }] } },
        { when: {}, reply: { text: 'read: {{last}}' } },
      ],
    }
    const place = createChaosPlace({}, script)
    expect((await place.run({ faultAt: 'result.undeliverable' })).code).toBe(null)
    const last = await place.resume()
    // On a slow machine its time is over once more; what it had read is there even so.
    expect(finishedOf(last)?.text).toContain('read: [The sub-agent was cancelled')
    await checkInvariants(place.toCheck(last))
  })
})

test('a session that is over stays as it is when it is resumed', async () => {
  const place = createChaosPlace({}, stepByStep)
  await expectRecovered(place, await place.run(), answer)
  const again = await place.resume()
  expect(finishedOf(again)).toMatchObject({ status: 'done', text: answer })
  await checkInvariants(place.toCheck(again))
})
