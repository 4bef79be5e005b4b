"""Writes a small model that vLLM can serve without a hub: a configuration and a tokenizer.

    make_model.py DIRECTORY [LAYERS]

The weights are left out: vLLM makes random ones (`--load-format dummy`). More layers make a slower
prefill. Needs the packages `tokenizers` and `transformers`, which vLLM brings along.
"""

import json
import os
import sys

VOCABULARY = 2048
LENGTH = 16384
CHAT = (
    "{% for m in messages %}<|{{ m['role'] }}|>{{ m['content'] }}<|end|>{% endfor %}"
    "{% if add_generation_prompt %}<|assistant|>{% endif %}"
)


def train_tokenizer(directory):
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=["<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    with open(json.__file__, encoding="utf-8") as text:  # any text will do
        tokenizer.train_from_iterator(text, trainer)
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, eos_token="<|end|>", chat_template=CHAT
    ).save_pretrained(directory)


def write_configuration(directory, layers):
    config = {
        "architectures": ["LlamaForCausalLM"],
        "model_type": "llama",
        "hidden_size": 256,
        "intermediate_size": 1024,
        "num_hidden_layers": layers,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 64,
        "vocab_size": VOCABULARY,
        "max_position_embeddings": LENGTH,
        "rms_norm_eps": 1e-5,
        "hidden_act": "silu",
        "tie_word_embeddings": False,
        "torch_dtype": "float32",
        "bos_token_id": 0,
        "eos_token_id": 0,
    }
    for name, values in (("config", config), ("generation_config", {"eos_token_id": 0})):
        with open(os.path.join(directory, f"{name}.json"), "w", encoding="utf-8") as file:
            json.dump(values, file, indent=1)


def main():
    directory = sys.argv[1]
    layers = int(sys.argv[2]) if len(sys.argv) > 2 else 4
    os.makedirs(directory, exist_ok=True)
    train_tokenizer(directory)
    write_configuration(directory, layers)


if __name__ == "__main__":
    main()
