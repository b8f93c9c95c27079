import type { Usage } from '../../core/model.ts'
import type { ScriptedCall } from './answer.ts'
import type { Step } from './play.ts'

/** How an answer looks on the wire: Ollama's lines of JSON, or OpenAI's server-sent events. */
export type Dialect = {
  contentType: string
  step(step: Step): string
  /** What ends a stream. */
  end(usage: Usage, finish: 'stop' | 'length', hadCalls: boolean): string
  /** The answer to a request that did not ask for a stream. */
  whole(said: Spoken, usage: Usage, finish: 'stop' | 'length'): string
  /** Bytes that no client can read. */
  garbage: string
}

/** A whole answer. */
export type Spoken = { text: string; thinking: string; calls: ScriptedCall[] }

export function ollamaDialect(model: string): Dialect {
  const base = { model, created_at: new Date().toISOString() }
  const line = (fields: object) => `${JSON.stringify({ ...base, ...fields })}\n`
  const message = (fields: object) => ({ role: 'assistant', content: '', ...fields })
  let sent = 0
  const calls = (all: ScriptedCall[]) =>
    all.map(({ tool, args }) => ({ id: `call_${++sent}`, function: { index: sent - 1, name: tool, arguments: args } }))

  return {
    contentType: 'application/x-ndjson',
    step(step) {
      if (step.type === 'calls') return line({ message: message({ tool_calls: calls(step.calls) }), done: false })
      if (step.type === 'thinking') return line({ message: message({ thinking: step.text }), done: false })
      return line({ message: message({ content: step.text }), done: false })
    },
    end: (usage, finish) => line({ message: message({}), ...ollamaEnd(usage, finish) }),
    whole: ({ text, thinking, calls: made }, usage, finish) =>
      line({
        message: message({
          content: text,
          ...(thinking && { thinking }),
          ...(made.length > 0 && { tool_calls: calls(made) }),
        }),
        ...ollamaEnd(usage, finish),
      }),
    garbage: `{"model":"${model}","message":{"role":"assis\u0000<<garbage>>\n`,
  }
}

function ollamaEnd({ inputTokens, outputTokens }: Usage, finish: string) {
  return {
    done: true,
    done_reason: finish,
    total_duration: 0,
    load_duration: 0,
    prompt_eval_count: inputTokens,
    prompt_eval_duration: 0,
    eval_count: outputTokens,
    eval_duration: 0,
  }
}

export function openAiDialect(model: string, includeUsage: boolean): Dialect {
  const base = { id: 'chatcmpl-scripted', created: Math.floor(Date.now() / 1000), model }
  const event = (fields: object) =>
    `data: ${JSON.stringify({ ...base, object: 'chat.completion.chunk', ...fields })}\n\n`
  const chunk = (delta: object, finish_reason: string | null = null) =>
    event({ choices: [{ index: 0, delta, finish_reason }] })
  let sent = 0
  const calls = (all: ScriptedCall[]) =>
    all.map(({ tool, args }) => {
      const sentArgs = typeof args === 'string' ? args : JSON.stringify(args)
      return { index: sent++, id: `call_${sent}`, type: 'function', function: { name: tool, arguments: sentArgs } }
    })

  return {
    contentType: 'text/event-stream',
    step(step) {
      const role = 'assistant'
      if (step.type === 'calls') return chunk({ role, tool_calls: calls(step.calls) })
      return chunk({ role, [step.type === 'text' ? 'content' : 'reasoning_content']: step.text })
    },
    end: (usage, finish, hadCalls) =>
      chunk({}, finishReason(finish, hadCalls)) +
      (includeUsage ? event({ choices: [], usage: openAiUsage(usage) }) : '') +
      'data: [DONE]\n\n',
    whole({ text, thinking, calls: made }, usage, finish) {
      const message = {
        role: 'assistant',
        content: text === '' && made.length > 0 ? null : text,
        ...(thinking && { reasoning_content: thinking }),
        ...(made.length > 0 && { tool_calls: calls(made) }),
      }
      const choices = [{ index: 0, message, finish_reason: finishReason(finish, made.length > 0) }]
      return JSON.stringify({ ...base, object: 'chat.completion', choices, usage: openAiUsage(usage) })
    },
    garbage: 'data: {"choices":[{"delta":\u0000<<garbage>>\n\n',
  }
}

function finishReason(finish: 'stop' | 'length', hadCalls: boolean): string {
  return finish === 'stop' && hadCalls ? 'tool_calls' : finish
}

function openAiUsage({ inputTokens, outputTokens }: Usage) {
  return {
    prompt_tokens: inputTokens,
    completion_tokens: outputTokens,
    total_tokens: inputTokens + outputTokens,
  }
}
