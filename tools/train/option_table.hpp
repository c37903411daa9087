// The options of a training run, each stated once: type, member of TrainOptions, default, help, and the facts of
// TrainOption (option_list.hpp) that hold for it. Command line, help, manual page, completions, configurations,
// checkpoints, presets and --resume all go by these rows.
//
// No include guard: options.hpp makes the members of the rows, option_list.cpp the table.

GROUP("Data")
OPTION(std::string, kind, "transformer", "kind of model", .choices = kind_list, .usual = kEvery,
       .decides = true, .fresh = true)
OPTION(std::string, task, "phrasebook", "what is learned: a built-in task, or files",
       .choices = {"phrasebook", "names", "copy", "reverse", "noisy", "random", "files"},
       .usual = kSequence, .decides = true, .fresh = true)
OPTION(std::string, source, "", "file of source sentences, one a line", .kinds = kSequence,
       .usual = kSequence, .decides = true)
OPTION(std::string, target, "", "file of target sentences", .kinds = kSequence, .usual = kSequence,
       .decides = true)
OPTION(std::string, valid_source, "", "file of source sentences to validate on", .kinds = kSequence,
       .decides = true)
OPTION(std::string, valid_target, "", "file of target sentences to validate on", .kinds = kSequence,
       .decides = true)
OPTION(std::string, pairs, "",
       "instead of --source and --target: file of both (CSV, TSV or JSON lines; -: standard input)",
       .kinds = kSequence, .decides = true)
OPTION(std::string, valid_pairs, "", "such a file to validate on", .kinds = kSequence,
       .decides = true)
OPTION(std::string, columns, "",
       "names of the columns of --pairs or --labelled (source,target; sentence,label)",
       .kinds = kSequence + ", classifier")
OPTION(double, valid_share, -1,
       "share of the training data to validate on instead (below 0: a tenth, at most 1,000 "
       "sentences, where no other data are named)",
       .range = {-1, 1, false, true})
OPTION(std::string, text, "", "file of text; for bert of sentences, one a line",
       .kinds = "gpt, bert", .usual = "gpt, bert", .decides = true)
OPTION(std::string, valid_text, "",
       "file of text to validate on (without: the end of --text, --valid-share of it)",
       .kinds = "gpt, bert", .decides = true)
OPTION(std::string, labelled, "",
       "file of sentences and labels: sentence<TAB>label lines, CSV or JSON lines; for tagger "
       "TOKEN<TAB>LABEL lines, CoNLL or JSON lines",
       .kinds = "classifier, tagger", .usual = "classifier, tagger")
OPTION(std::string, valid_labelled, "", "such a file to validate on", .kinds = "classifier, tagger",
       .usual = "classifier, tagger")
OPTION(std::string, images, "", "IDX file of training images, plain or gzipped", .kinds = kImages,
       .usual = kImages)
OPTION(std::string, labels, "", "IDX file of their labels", .kinds = kImages, .usual = kImages)
OPTION(std::string, valid_images, "", "IDX file of images to validate on", .kinds = kImages)
OPTION(std::string, valid_labels, "", "IDX file of their labels", .kinds = kImages)
OPTION(std::string, image_folder, "",
       "instead of --images: folder with a folder of PNGs for each class", .kinds = kImages,
       .usual = kImages)
OPTION(std::string, valid_image_folder, "", "such a folder to validate on", .kinds = kImages)
OPTION(Index, train_first, 0, "train only on this many first images (0: all others)",
       .range = kCount, .kinds = kImages)
OPTION(Index, valid_last, 0, "validate on this many last images, which are not trained on",
       .range = kCount, .kinds = kImages)
OPTION(std::string, init_from, "",
       "folder of a model to begin with, of the same kind (or a bert, for a classifier or tagger)",
       .usual = "classifier, tagger")
OPTION(std::string, tokenizer, "word", "what is one token of a text", .choices = kTokenizers,
       .kinds = kText, .usual = "gpt, bert", .from_start = FromStart::Same)
OPTION(std::string, target_tokenizer, "", "tokenizer of the target side, if different",
       .choices = kTokenizers, .kinds = kSequence, .from_start = FromStart::Same)
OPTION(bool, shared_vocabulary, false, "one vocabulary for both sides", .kinds = kSequence,
       .from_start = FromStart::Same)
OPTION(Index, vocabulary, 0, "largest size of a vocabulary (0: no limit; 8,000 with sentencepiece)",
       .range = kCount, .kinds = kText, .from_start = FromStart::Same)
OPTION(std::string, vocabulary_file, "",
       "own vocabulary instead: a file of tokens, one a line, or a SentencePiece model",
       .kinds = kText)
OPTION(std::string, target_vocabulary_file, "",
       "file of the target side's vocabulary, if different", .kinds = kSequence)
OPTION(Index, min_frequency, 1, "fewest occurrences of a word or character", .range = kPositive,
       .kinds = kText, .from_start = FromStart::Same)
OPTION(Index, max_length, 256, "longest sentence, in tokens; longer pairs are left out",
       .range = kPositive, .kinds = kSequence + ", bert, classifier, tagger",
       .from_start = FromStart::AtMost)
OPTION(Index, examples, 2000, "pairs generated by copy, reverse and noisy", .range = kPositive,
       .kinds = kSequence)
OPTION(std::string, teacher, "",
       "folder of a model whose translations replace the training targets", .kinds = kSequence)
OPTION(Index, teacher_beam, 4, "beam of the teacher", .range = kBeam, .kinds = kSequence)
OPTION(double, word_dropout, 0, "share of tokens hidden in training", .range = kShare,
       .kinds = "classifier, tagger")

GROUP("Model")
OPTION(Index, layers, 3, "layers, of two sides the encoder's", .range = kPositive, .usual = kEvery,
       .fresh = true)
OPTION(Index, decoder_layers, 0, "decoder layers (0: as many as --layers)", .range = kCount,
       .kinds = "transformer, conv, non-autoregressive", .fresh = true)
OPTION(Index, d_model, 256, "width D", .range = kPositive, .usual = kEvery, .fresh = true)
OPTION(Index, heads, 8, "attention heads H; must divide D", .range = kPositive,
       .kinds = kAttentive + ", gpt, bert, classifier, tagger, vit", .usual = "bert", .fresh = true)
OPTION(Index, d_ff, 512, "width of the feed-forward layers", .range = kPositive,
       .kinds = kAttentive + ", gpt, bert, classifier, tagger, vit", .fresh = true)
OPTION(double, dropout, 0.1, "dropout probability", .range = kShare,
       .from_start = FromStart::Default)
OPTION(double, attention_dropout, -1, "dropout of attention (below 0: as --dropout)",
       .range = {-1, 1, false, true}, .kinds = kAttentive, .from_start = FromStart::Default)
OPTION(double, activation_dropout, -1,
       "dropout of the feed-forward's hidden layer (below 0: as --dropout)",
       .range = {-1, 1, false, true}, .kinds = kAttentive, .from_start = FromStart::Default)
OPTION(std::string, norm, "post", "norms before or after each sublayer",
       .choices = kNames<NormPlacement>.names(),
       .kinds = kAttentive + ", gpt, bert, classifier, tagger", .fresh = true)
OPTION(std::string, activation, "relu", "activation of the feed-forward layers",
       .choices = kNames<Activation>.names(),
       .kinds = kAttentive + ", gpt, bert, classifier, tagger", .fresh = true)
OPTION(std::string, tie, "none", "weights shared by embeddings and generator",
       .choices = kNames<Tie>.names(), .kinds = kAttentive + ", gpt, bert, classifier, tagger",
       .fresh = true)
OPTION(std::string, positions, "sinusoidal", "how a model knows a token's position",
       .choices = kNames<Positions>.names(),
       .kinds = kAttentive + ", conv, gpt, bert, classifier, tagger, vit", .fresh = true)
OPTION(double, position_base, 10000, "base of --positions sinusoidal", .range = kAboveZero,
       .kinds = kAttentive + ", conv, gpt, bert, classifier, tagger, vit", .fresh = true)
OPTION(bool, share_qk, false, "one projection for the queries and the keys of an attention",
       .kinds = kAttentive + ", gpt, bert, classifier, tagger, vit", .fresh = true)
OPTION(Index, d_embed, 256, "width of a recurrent model's embeddings", .range = kPositive,
       .kinds = "rnn")
OPTION(std::string, cell, "gru", "cell of a recurrent model", .choices = kNames<CellKind>.names(),
       .kinds = "rnn", .fresh = true)
OPTION(std::string, attention, "additive",
       "attention of a recurrent model (none: the encoder's last state is all that is read)",
       .choices = kNames<AttentionScore>.names(), .kinds = "rnn", .fresh = true)
OPTION(Index, patch, 7, "side of the square patches of an image", .range = kPositive,
       .kinds = "vit", .usual = "vit", .fresh = true)
OPTION(Index, kernel, 3,
       "positions that a layer of a convolutional model sees, of images along each side",
       .range = kPositive, .kinds = "conv, cnn", .fresh = true)
OPTION(bool, copy, false, "copy words of the source: a pointer mixed with the generator",
       .kinds = "transformer, rnn", .fresh = true)
OPTION(std::string, length, "predict",
       "length of a non-autoregressive output (long: cut at the first END)",
       .choices = kNames<OutputLength>.names(), .kinds = "non-autoregressive", .fresh = true)
OPTION(Index, block, 64, "tokens of context", .range = kPositive, .kinds = "gpt", .usual = "gpt",
       .from_start = FromStart::AtMost)
OPTION(double, init, 0.02, "deviation of the initial weights", .range = kAboveZero,
       .kinds = "gpt, bert, classifier, tagger")
OPTION(double, embedding_init, 0,
       "deviation of the initial embeddings (0: xavier-uniform, as other matrices)",
       .range = kNotNegative, .kinds = kAttentive, .fresh = true)
OPTION(std::string, embeddings, "",
       "file of word vectors (word2vec's or GloVe's text) to begin the tokens' embeddings with, of "
       "two sides the source's",
       .kinds = kText, .from_start = FromStart::Free)
OPTION(bool, freeze_embeddings, false, "leave the embeddings as --embeddings has them",
       .kinds = kText, .from_start = FromStart::Free)
OPTION(bool, bias, false, "biases in layers and norms", .kinds = "gpt")
OPTION(std::string, pooling, "mean", "the vector of the whole: the first token's or the mean",
       .choices = kNames<Pooling>.names(), .kinds = "classifier, vit")
OPTION(std::string, recompute, "none", "layers that backward runs again to save memory",
       .choices = kNames<Recompute>.names(), .kinds = kAttentive)

GROUP("Training")
OPTION(Index, epochs, 10, "passes over the training data (0: 5 to 100, by its amount)",
       .range = kCount, .usual = kSequence + ", bert, classifier, tagger, " + kImages,
       .resumes = true)
OPTION(Index, max_steps, 0, "largest number of updates (0: no limit)", .range = kCount,
       .usual = "gpt", .resumes = true)
OPTION(Index, batch_tokens, 4096, "largest number of padded tokens in a batch (0: no limit)",
       .range = kCount, .usual = kSequence + ", bert, classifier, tagger")
OPTION(
    Index, batch_sentences, 0,
    "largest number of pairs in a batch (0: no limit; without either limit by the amount of data)",
    .range = kCount, .usual = "gpt")
OPTION(Index, accumulate, 1, "batches in one update", .range = kPositive)
OPTION(Index, shards, 1, "parts of a batch, which processes share; a power of two",
       .range = kPositive)
OPTION(double, label_smoothing, 0.1, "ε: probability given to the other tokens", .range = kShare,
       .from_start = FromStart::Default)
OPTION(double, shift, 0, "largest shift of training images, in pixels", .range = {0, 1e6},
       .kinds = kImages)
OPTION(double, rotation, 0, "largest rotation of training images, in degrees", .range = {0, 180},
       .kinds = kImages)
OPTION(double, guided_attention, 0, "weight of the penalty on attention off the diagonal (0: none)",
       .range = kNotNegative, .kinds = kSequence)
OPTION(double, guided_width, 0.2,
       "g: distance from the diagonal that costs little, as a share of the length",
       .range = kAboveZero, .kinds = kSequence)
OPTION(double, scheduled_sampling, 0,
       "largest share of decoder inputs that are the model's own predictions (0: none)",
       .range = {0, 1}, .kinds = "transformer, rnn, conv")
OPTION(std::string, sampling_schedule, "linear", "how the share grows",
       .choices = kNames<SamplingSchedule>.names(), .kinds = "transformer, rnn, conv")
OPTION(Index, sampling_steps, 1000, "steps until the share is largest", .range = kPositive,
       .kinds = "transformer, rnn, conv")
OPTION(std::string, optimizer, "adam", "algorithm of the updates",
       .choices = {"adam", "adamw", "sgd"})
OPTION(double, beta1, 0.9, "Adam's β₁", .range = kShare)
OPTION(double, beta2, 0.98, "Adam's β₂", .range = kShare)
OPTION(double, epsilon, 1e-9, "Adam's ε", .range = kAboveZero)
OPTION(double, weight_decay, 0, "L2 penalty (adamw: decoupled decay, of matrices only)",
       .range = kNotNegative)
OPTION(double, momentum, 0.9, "momentum of sgd", .range = kShare)
OPTION(std::string, schedule, "noam", "course of the learning rate",
       .choices = {"noam", "inverse-sqrt", "cosine", "constant"})
OPTION(double, rate, 0, "peak learning rate (0: 5e-4; noam: that of --noam-factor)",
       .range = kNotNegative, .usual = kEvery)
OPTION(double, noam_factor, 0,
       "instead of --rate, with --schedule noam: peak = factor · D^-½ · warmup^-½ (0: 1)",
       .range = kNotNegative)
OPTION(Index, warmup, 400, "steps of warm-up", .range = kCount)
OPTION(double, clip, 1, "largest global norm of the gradient (0: no limit)", .range = kNotNegative)
OPTION(Index, seed, 1, "seed of the initial weights, the order of batches and dropout",
       .range = kCount, .fresh = true)
OPTION(std::string, precision, "float32", "numbers of the model", .choices = {"float32", "float64"})

GROUP("Run")
OPTION(Index, patience, 0, "validations without improvement before stopping (0: never)",
       .range = kCount, .resumes = true)
OPTION(Index, try_every, 0,
       "epochs between translations of validation sentences, some shown (0: never)",
       .range = kCount, .kinds = kSequence, .resumes = true)
OPTION(double, enough, 0,
       "stop when this share of those translations equals the reference (0: never)",
       .range = {0, 1}, .kinds = kSequence, .resumes = true)
OPTION(Index, valid_every, 0,
       "steps between validations, beside those at the end of each epoch (0: none)",
       .range = kCount, .resumes = true)
OPTION(Index, save_every, 0, "steps between checkpoints (0: at each validation)", .range = kCount,
       .resumes = true)
OPTION(Index, log_every, 0,
       "steps between lines of the log (0: 50; 20 lines at least, and one an epoch)",
       .range = kCount, .resumes = true)
OPTION(bool, record, false,
       "keep gradient norms, entropies and more in OUT/recording.jsonl, for glim report, and up to "
       "17 checkpoints (1 GB at most), OUT/step-N.safetensors, for glim inspect --run")
OPTION(Index, record_every, 0, "steps between records (0: 50; 20 records at least)",
       .range = kCount)
OPTION(Index, average, 0, "number of last epochs whose weights are averaged (0: none)",
       .range = kCount, .resumes = true)
OPTION(std::string, out, "model", "folder of the model", .usual = kEvery)

#undef GROUP
#undef OPTION
