#!/usr/bin/env bash
# images.sh GLIM MAKE_IMAGES: models of kinds vit and cnn through glim train and glim classify, from IDX files
# and from folders of PNGs. They learn, resume to the bit, and say what they see; whatever is wrong
# with an image, a label or an option is one line.
set -uo pipefail
glim=$(realpath "$1") make=$(realpath "$2")
source "$(dirname "$0")/../common.sh"
# 240 images of 8 x 8 whose class says where a bright square is: images.idx labels.idx, gzipped too,
# folders/{0,1,2,3}/N.png, and single files.
"$make" . || { echo "0 passed, 1 failed"; exit 1; }
vit=(train --kind vit --patch 4 --layers 1 --d-model 16 --heads 2 --d-ff 32 --batch-sentences 16
     --warmup 5 --rate 5e-3 --progress none)
idx=(--images images.idx.gz --labels labels.idx)
folders=(--image-folder folders)

# --- learning, by both pools, from both kinds of files ---
right() { sed -n 's/^validation images, never trained on: \([0-9]*\) of 40 .*/\1/p' "$1"; }
"$glim" "${vit[@]}" "${idx[@]}" --valid-last 40 --epochs 40 --shift 0.5 --rotation 5 --out by-idx >log 2>&1
report "learns from IDX files" "$([ "$(right log)" -ge 38 ] || show log)"
"$glim" "${vit[@]}" "${folders[@]}" --valid-last 40 --epochs 40 --pooling first --out by-folder >log 2>&1
report "learns from folders of PNGs" "$([ "$(right log)" -ge 38 ] || show log)"

"$glim" train --kind cnn --layers 2 --d-model 16 --batch-sentences 16 --warmup 5 --rate 5e-3 --progress none "${idx[@]}" \
  --valid-last 40 --epochs 20 --shift 0.5 --out by-cnn >log 2>&1
report "learns by convolutions" "$([ "$(right log)" -ge 38 ] || show log)"
"$glim" classify --model by-cnn --images images.idx --labels labels.idx >log 2>&1
report "and classifies by them" "$(grep -q '^accuracy 0.9[5-9]\|^accuracy 1' log || show log)"

# --- under the microscope (a build without pages has none) ---
if "$glim" inspect --help >/dev/null 2>&1; then
  "$glim" inspect --model by-idx --image images.idx.gz:5 --data --out look >log 2>&1
  report "an image's pixels have gradients" "$(python3 -c '
import json
image = json.load(open("look/inspect.json"))["image"]
assert all(len(image[k]) == 1 and len(image[k][0]) == 8 == len(image[k][0][0]) for k in ("pixels", "gradient"))
assert all(0 <= x <= 1 for row in image["pixels"][0] for x in row) and any(x for row in image["gradient"][0] for x in row)
' 2>&1 || show log)"
  "$glim" inspect --model by-idx --image images.idx:5 --paint '*,3=0.5' 0,3=1 --label 1 --data --out painted >log 2>&1
  report "a painted image" "$(python3 -c '
import json
rows = json.load(open("painted/inspect.json"))["image"]["pixels"][0]
was = json.load(open("look/inspect.json"))["image"]["pixels"][0]
assert rows[0][3] == 1 and all(row[3] == 0.5 for row in rows[1:])
assert all(row[k] == old[k] for row, old in zip(rows, was) for k in range(8) if k != 3)
' 2>&1 || show log)"
  printf 'where\n' | "$glim" step --model by-folder --image folders/2/0.png --label 1 >log 2>&1
  report "and steps back to them" "$(grep -q 'target: 1' log || show log)"
  "$glim" inspect --model by-cnn --image images.idx:5 --data --dropout --out cnn-look >log 2>&1
  report "so they have in a cnn" "$(python3 -c '
import json
data = json.load(open("cnn-look/inspect.json"))
assert not data["attention"] and any(x for row in data["image"]["gradient"][0] for x in row)
' 2>&1 || show log)"
  look=("$glim" inspect --out other --model by-idx)
  refuse "no image" '--image: a model of images needs one' "${look[@]}"
  refuse "an image that there is not" '--image: images.idx has the images 0 to 239' "${look[@]}" --image images.idx:240
  refuse "no number of an image" '--image: takes FILE.png, or FILE:N' "${look[@]}" --image images.idx
  refuse "an image of another size" "wide.png" "${look[@]}" --image wide.png
  refuse "a class that there is not" "--label: '9' is not one of 0, 1, 2, 3" "${look[@]}" --image images.idx:0 --label 9
  for paint in 1=0 1,2 1,2=2 1,2=x 1,x=0 0,0,0,0=1 '' =1; do
    refuse "to paint '$paint'" '--paint: ' "${look[@]}" --image images.idx:0 --paint "$paint"
  done
  refuse "a row that there is not" "--paint: '8,0=1': 8 is outside an axis of 8 elements" "${look[@]}" --image images.idx:0 --paint 8,0=1
  refuse "a channel that there is not" "--paint: '1,0,0=1': 1 is outside an axis of 1 elements" "${look[@]}" --image images.idx:0 --paint 1,0,0=1
  refuse "a sentence for a vit" '--sentence: a model of kind vit takes --image and --label' "${look[@]}" --sentence a
fi

# --- from a model to the next ---
"$glim" train --init-from by-idx "${idx[@]}" --valid-last 40 --max-steps 2 --rate 1e-30 --schedule constant \
  --progress none --out begun >log 2>&1
report "begins with a vit: it knows what that one knew" "$([ "$(right log)" -ge 38 ] || show log)"
refuse "a patch that is another" '--patch: by-idx has 4, and a run that begins with it has the same' \
  "$glim" train --init-from by-idx "${idx[@]}" --patch 2 --out other

# --- classifying ---
"$glim" classify --model by-idx --images images.idx >found 2>err
report "a line for each image" "$([ "$(wc -l <found)" = 240 ] && grep -Eq '^[0-3]	0=[01]\.[0-9]{4} 1=' found || show err)"
"$glim" classify --model by-idx --images images.idx.gz --labels labels.idx.gz >found 2>err
report "accuracy over an IDX file" "$(grep -Eq '^accuracy (0\.9[5-9]|1\.0)[0-9]* \([0-9]+ of 240\)' found || show found err)"
"$glim" classify --model by-folder --image-folder folders >found 2>err
report "accuracy over folders" "$(grep -Eq '^accuracy (0\.9[5-9]|1\.0)[0-9]* ' found || show found err)"
"$glim" classify --model by-folder folders/2/0.png folders/1/0.png >found 2>err
report "PNG files as arguments" "$([ "$(cut -f1,3 found)" = $'2\tfolders/2/0.png\n1\tfolders/1/0.png' ] || show found err)"
reads_folder() { "$glim" classify --model by-folder </; }
refuse "names from a folder" 'standard input: cannot be read: Is a directory' reads_folder
printf 'folders/3/0.png\ncolor.png\n' | "$glim" classify --model by-folder >found 2>err
report "PNG files by standard input" "$([ "$(cut -f1 found | head -1)" = 3 ] && [ "$(wc -l <found)" = 2 ] || show found err)"
echo broken >broken.png
printf 'color.png\0x\n' | "$glim" classify --model by-folder >found 2>err
report "a name with a zero byte" "$(grep -q '^glim: error: color.png.x00x: a file.s name has no zero byte' err || show err)"
status=0
"$glim" classify --model by-folder folders/2/0.png broken.png nothere.png folders/1/0.png >found 2>err || status=$?
report "a broken file does not end the others" "$([ $status = 1 ] && [ "$(cut -f1,3 found | tr '\n' ' ')" = \
  $'2\tfolders/2/0.png \tbroken.png \tnothere.png 1\tfolders/1/0.png ' ] &&
  [ "$(grep -c '^glim: error: \(broken\|nothere\).png: ' err)" = 2 ] || show found err)"

# --- resumed = never stopped; the same bits for any number of threads ---
run=("${vit[@]}" "${idx[@]}" --train-first 100 --epochs 3 --schedule constant
     --dropout 0.3 --shift 1 --out model)
mkdir one two three
cp images.idx.gz labels.idx one; cp images.idx.gz labels.idx two; cp images.idx.gz labels.idx three
(cd one && "$glim" "${run[@]}" >log 2>&1)
(cd two && "$glim" "${run[@]}" --max-steps 10 >log 2>&1 &&
  "$glim" train --resume --max-steps 0 --progress none --out model >log 2>&1)
(cd three && OMP_NUM_THREADS=5 "$glim" "${run[@]}" >log 2>&1)
report "a resumed run ends in the same bits" \
  "$([ "$(tensors one/model/last.safetensors)" = "$(tensors two/model/last.safetensors)" ] || show two/log)"
(mkdir cnn && cd cnn && cp ../images.idx.gz ../labels.idx . &&
  cnn=(train --kind cnn "${idx[@]}" --layers 2 --d-model 8 --batch-sentences 16 --schedule constant --train-first 100
       --epochs 3 --dropout 0.3 --shift 1 --progress none)
  "$glim" "${cnn[@]}" --out one && OMP_NUM_THREADS=5 "$glim" "${cnn[@]}" --max-steps 10 --out two &&
  "$glim" train --resume --max-steps 0 --progress none --out two) >log 2>&1
report "and of convolutions, with their running statistics" \
  "$([ "$(tensors cnn/one/last.safetensors)" = "$(tensors cnn/two/last.safetensors)" ] || show log)"
report "the same bits for any number of threads" \
  "$([ "$(tensors one/model/last.safetensors)" = "$(tensors three/model/last.safetensors)" ] || show three/log)"
head -c 58 labels.idx >two/labels.idx; head -c 190 /dev/zero >>two/labels.idx
(cd two && refuse "other labels on resume" 'training data are not those' "$glim" train --resume --epochs 4 --progress none --out model
  echo "$passed $failed" >../inner)
read -r passed failed <inner

# --- files ---
bad() { refuse "$1" "$2" "$glim" "${vit[@]}" --images "$3" --labels "${4:-labels.idx}" --out fresh; }
head -c 5000 images.idx >short.idx
head -c 300 images.idx.gz >short.idx.gz
head -c 8 images.idx >header.idx
head -c 200 labels.idx >few.idx
bad "missing file" 'nowhere\.idx' nowhere.idx
bad "a folder as IDX" 'folders' folders
bad "a PNG in place of an IDX file" 'color\.png: is a PNG image, not an IDX file: `glim classify FILE.png` ' color.png
bad "no IDX file" 'broken\.png: is not an IDX file' broken.png
bad "truncated IDX" 'short\.idx: is truncated.*240 x 8 x 8' short.idx
bad "truncated header" 'header\.idx: is truncated' header.idx
bad "truncated gzip" 'short\.idx\.gz: .*truncated' short.idx.gz
bad "truncated labels" 'few\.idx: is truncated' images.idx few.idx
bad "labels as images" 'images must be' labels.idx
bad "counts that differ" 'five\.idx: has 5 labels, images\.idx has 240 images' images.idx five.idx
head -c 20 labels.idx >gap.idx; printf '\x4d' >>gap.idx; tail -c +22 labels.idx >>gap.idx
bad "a label far beyond the others" "image 13 has label '77', yet none has '4'" images.idx gap.idx
bad "one class alone" 'two different labels' images.idx same.idx
refuse "labels outside the classes" "images\.idx: image .*: the label '7'.*0, 1, 2, 3" "$glim" "${vit[@]}" \
  "${idx[@]}" --valid-images images.idx --valid-labels seven.idx --out fresh
refuse "validation images of another size" 'wide\.idx: holds images of 8 x 12.*8 x 8' "$glim" "${vit[@]}" \
  "${idx[@]}" --valid-images wide.idx --valid-labels five.idx --out fresh
mkdir -p none empty/0 empty/1 mixed/0 mixed/1 text/0 text/1 onlyone
cp folders/0/0.png empty/0; cp folders/0/0.png mixed/0; cp wide.png mixed/1
cp folders/0/0.png text/0; echo 'no image' >text/1/a.png; cp -r folders/0 onlyone
bad_folder() { refuse "$1" "$2" "$glim" "${vit[@]}" --image-folder "$3" --out fresh; }
bad_folder "a missing folder" 'nowhere' nowhere
bad_folder "a folder without classes" 'none: holds no folders' none
bad_folder "an empty class folder" 'empty/1: holds no PNG' empty
bad_folder "an image of another size" 'mixed/1/wide\.png: is an image of 8 x 12; it must be 8 x 8' mixed
bad_folder "text as PNG" 'text/1/a\.png: cannot be read as a PNG' text
bad_folder "a single class" 'two different labels' onlyone
refuse "a class that was not trained" 'folders/2: is the folder of a class' "$glim" "${vit[@]}" \
  --image-folder two-classes --valid-image-folder folders --out fresh

refuse "to evaluate a vit as a translator" 'glim classify measures, with --images FILE --labels FILE' "$glim" evaluate --model by-idx
# --- options ---
option() { local name=$1 pattern=$2; shift 2; refuse "$name" "$pattern" "$glim" "${vit[@]}" "$@" --out fresh; }
option "no images" '--images' --labels labels.idx
option "no labels" '--labels' --images images.idx
option "files and folders" '--image-folder' "${idx[@]}" "${folders[@]}"
option "validation images without labels" '--valid-labels' "${idx[@]}" --valid-images images.idx
option "validation twice" '--valid-last' "${idx[@]}" --valid-images images.idx --valid-labels labels.idx --valid-last 3
option "more than there are" '--valid-last.*240' "${idx[@]}" --train-first 230 --valid-last 20
option "nothing left to train on" '--valid-last.*240' "${idx[@]}" --valid-last 240
option "a negative shift" '--shift' "${idx[@]}" --shift -1
option "more than a turn" '--rotation' "${idx[@]}" --rotation 1e300
option "pooling of no kind" '--pooling.*first, mean' "${idx[@]}" --pooling last
option "tied weights" "--tie.*vit" "${idx[@]}" --tie decoder
option "batches counted in tokens" '--batch-tokens' "${idx[@]}" --batch-tokens 100
refuse "patches that do not tile" 'patches of 3 x 3 do not tile' "$glim" train --kind vit "${idx[@]}" --patch 3 --progress none --out fresh
small() { refuse "$1" "$2" "$glim" train --kind cnn "${idx[@]}" "${@:3}" --progress none --out fresh; }
small "images too small for the layers" '--layers: images of 8 x 8 are too small for 4 layers.*: 3 at most' --layers 4
small "an even kernel" '--kernel: must be odd for images, not 2' --kernel 2
small "a kernel larger than the images" '--kernel: windows of 99 x 99 are larger than images of 8 x 8' --kernel 99
python3 -c '
open("dots.idx", "wb").write(bytes([0, 0, 8, 3, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 1]) + bytes([0, 255, 0, 255]))
open("dots-labels.idx", "wb").write(bytes([0, 0, 8, 1, 0, 0, 0, 4, 0, 1, 0, 1]))'
dots=(--images dots.idx --labels dots-labels.idx --valid-share 0 --max-steps 1 --progress none)
refuse "images of one pixel" '--layers: images of 1 x 1 are too small for .* each of which halves them: --kind vit --patch 1 takes them' \
  "$glim" train --kind cnn "${dots[@]}" --out fresh
"$glim" train --kind vit --patch 1 "${dots[@]}" --out dots >log 2>&1
report "which a vit takes" "$([ -e dots/last.safetensors ] || show log)"
small "parts of a batch" '--shards: --kind cnn normalises over whole batches' --shards 2
small "patches of a cnn" '--patch: is no option of --kind cnn; it belongs to --kind vit' --patch 4
small "positions of a cnn" '--positions: is no option of --kind cnn' --positions none
refuse "no patch" '--patch' "$glim" train --kind vit "${idx[@]}" --patch 0 --progress none --out fresh
refuse "images for a Transformer" "--images.*vit" "$glim" train --images images.idx --progress none --out fresh
report "no folder is left by what was refused" "$([ -e fresh ] && ls fresh)"

# --- classify ---
refuse "an image of another size to classify" 'wide\.png: is an image of 8 x 12' "$glim" classify --model by-idx wide.png
refuse "an IDX file of another size" 'wide\.idx: holds images of 8 x 12' "$glim" classify --model by-idx --images wide.idx
refuse "PNGs without classes" 'folders/0: holds no folders .*; .glim classify FILE.png \.\.\.. classifies images without labels' \
  "$glim" classify --model by-folder --image-folder folders/0
printf '\xff\xd8\xff\xe0' >photo.jpg
refuse "a JPEG" 'photo\.jpg: is a JPEG image; .convert FILE.jpg FILE.png. .ImageMagick. makes a PNG' \
  "$glim" classify --model by-idx photo.jpg
refuse "a missing image" 'nowhere\.png' "$glim" classify --model by-idx nowhere.png
refuse "labels outside the model's classes" "label '7'" "$glim" classify --model by-idx --images images.idx --labels seven.idx
refuse "labels alone" '--labels' "$glim" classify --model by-idx --labels labels.idx
refuse "several sources" 'only one of' "$glim" classify --model by-idx --images images.idx folders/0/0.png
refuse "sentences for an image model" '--labelled' "$glim" classify --model by-idx --labelled text
refuse "translating with an image model" "kind 'vit'" "$glim" translate --model by-idx

genuine=by-idx/best.safetensors reads=(classify --model bad.safetensors color.png)
forge "another width" 'bad\.safetensors: attention: 2 heads do not divide' '\\"d_model\\":16' '\\"d_model\\":99'
forge "more layers" 'bad\.safetensors.*layers|bad\.safetensors.*linear1' '\\"layers\\":1' '\\"layers\\":9'
forge "a patch of nothing" 'bad\.safetensors: vit: patches of 0 x 0' '\\"patch\\":4' '\\"patch\\":0'
forge "more classes" 'bad\.safetensors.*labels' '\\"classes\\":4' '\\"classes\\":9'
summary
