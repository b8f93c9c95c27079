import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { SessionId } from '../core/ids.ts'
import type { Model, ModelDelta, ModelMessage, ModelReply, ModelRequest, ToolSpec } from '../core/model.ts'

/** A model to test, and what ends whatever serves it. */
export type ModelUnderTest = { model: Model; close(): Promise<void> }

const echo: ToolSpec = {
  name: 'echo',
  description: 'Gives back its text.',
  parameters: { type: 'object', properties: { text: { type: 'string' } }, required: ['text'] },
}

/**
 * What every model does, whoever serves it. The questions are such that a real model can answer them, so the words of an
 * answer are judged only where `scripted` says that they come from `fixtures/contract.yaml`.
 */
export function modelContract(name: string, makeModel: () => Promise<ModelUnderTest>, scripted: boolean): void {
  describe(`model contract: ${name}`, () => {
    let subject: ModelUnderTest
    beforeAll(async () => {
      subject = await makeModel()
    })
    afterAll(() => subject.close())

    test('streams exactly the text and the thinking that it resolves with', async () => {
      const { reply, deltas } = await ask(subject.model, [user('Answer with the word pong.')])
      expect(joined(deltas, 'text')).toBe(reply.text)
      expect(joined(deltas, 'thinking')).toBe(reply.thinking)
      expect(reply.calls).toEqual([])
      expect(reply.text + reply.thinking).not.toBe('')
      if (scripted) expect(reply).toMatchObject({ text: 'pong, and nothing else', thinking: 'They want one word.' })
    })

    test('counts tokens and says how the reply ended', async () => {
      const { reply } = await ask(subject.model, [user('Answer with the word pong.')])
      expect(reply.usage.inputTokens).toBeGreaterThan(0)
      expect(reply.usage.outputTokens).toBeGreaterThan(0)
      expect(['stop', 'length']).toContain(reply.finish)
      expect(reply.warnings).toEqual([])
    })

    test('gives calls in order, with arguments as objects', async () => {
      const { reply } = await ask(subject.model, [user(echoQuestion)], [echo])
      for (const call of reply.calls) expect(call).toEqual({ tool: expect.any(String), args: expect.any(Object) })
      if (!scripted) return
      expect(reply.text).toBe('Both at once.')
      expect(reply.calls).toEqual([
        { tool: 'echo', args: { text: 'first', options: { deep: [1, 2] } } },
        { tool: 'echo', args: { text: 'second' } },
      ])
    })

    test('takes a history with calls, results and a job board', async () => {
      const { reply } = await ask(subject.model, echoHistory, [echo], 'exp-1 (explorer) is running')
      expect(reply.text + reply.thinking + reply.calls.length).not.toBe('0')
      if (scripted) expect(reply.text).toBe('The tool said: second')
    })

    test('rejects with the reason of its signal, in the middle of a reply', async () => {
      const controller = new AbortController()
      const reason = new Error('enough')
      const request = requestOf([user('Please count to 100.')])
      const reply = subject.model.stream(request, () => controller.abort(reason), controller.signal)
      await expect(reply).rejects.toBe(reason)
    })

    test('rejects at once when its signal has aborted before', async () => {
      const reason = new Error('never mind')
      const reply = subject.model.stream(requestOf([user('Please count to 100.')]), () => {}, AbortSignal.abort(reason))
      await expect(reply).rejects.toBe(reason)
    })

    test('lets other requests go on when one is aborted', async () => {
      const controller = new AbortController()
      const other = ask(subject.model, [user('Please count to 30.')])
      const stopped = subject.model.stream(
        requestOf([user('Please count to 100.')]),
        () => controller.abort(new Error('enough')),
        controller.signal,
      )
      await expect(stopped).rejects.toThrow('enough')
      const { reply, deltas } = await other
      expect(joined(deltas, 'text')).toBe(reply.text)
      if (scripted) expect(reply.text).toMatch(/^1 2 3 .* 29 30\.$/)
    })
  })
}

const echoQuestion = 'Please call the tool echo twice: once with the text "first", once with "second".'

const echoHistory: ModelMessage[] = [
  user(echoQuestion),
  {
    role: 'assistant',
    text: 'Both at once.',
    calls: [
      { id: 'call_c1_1', tool: 'echo', args: { text: 'first' } },
      { id: 'call_c1_2', tool: 'echo', args: { text: 'second' } },
    ],
  },
  { role: 'tool', id: 'call_c1_1', tool: 'echo', output: 'first', isError: false },
  { role: 'tool', id: 'call_c1_2', tool: 'echo', output: 'second', isError: false },
]

function user(text: string): ModelMessage {
  return { role: 'user', text }
}

async function ask(
  model: Model,
  messages: ModelMessage[],
  tools: ToolSpec[] = [],
  board?: string,
): Promise<{ reply: ModelReply; deltas: ModelDelta[] }> {
  const deltas: ModelDelta[] = []
  const request = { ...requestOf(messages), tools, board }
  const reply = await model.stream(request, (delta) => deltas.push(delta), new AbortController().signal)
  return { reply, deltas }
}

function requestOf(messages: ModelMessage[]): ModelRequest {
  return {
    system: 'You answer in as few words as you can.',
    messages,
    tools: [],
    facts: { agent: 'tester', depth: 0, session: 'contract' as SessionId, turn: 1, attempt: 1, purpose: 'turn' },
    contextTokens: 4096,
  }
}

function joined(deltas: readonly ModelDelta[], type: ModelDelta['type']): string {
  return deltas
    .filter((delta) => delta.type === type)
    .map(({ text }) => text)
    .join('')
}
